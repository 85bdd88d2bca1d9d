// Any bytes as recorded predictions: an error, or as many rows as there are tokens, each inside of the vocabulary.
#include "memory_file.h"
#include "tools/reference.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  const auto reference = terrace::tools::file_reference(file.path());
  if (!reference) {
    if (reference.error().message.empty()) __builtin_trap();
    return 0;
  }
  size_t rows = 0;
  for (const auto& text : (*reference)->texts()) rows += text.tokens.size();
  for (size_t i = 0; i < rows; ++i) {
    const auto row = (*reference)->next();
    if (!row || (row->logits.empty() && row->top.size() != row->top_log_probs.size())) __builtin_trap();
    if (!row->logits.empty() && row->logits.size() != (*reference)->vocabulary()) __builtin_trap();
    for (const int32_t token : row->top)
      if (token < 0 || static_cast<size_t>(token) >= (*reference)->vocabulary()) __builtin_trap();
  }
  return 0;
}
