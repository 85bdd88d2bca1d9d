// Any bytes as a SentencePiece model: an error, or as many tokens as were asked for.
#include <cstdint>

#include "tools/convert/tokenizer_files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace terrace::tools;
  std::vector<std::string> notes;
  const auto list = read_sentencepiece(std::as_bytes(std::span(data, size)), {}, 64, notes);
  if (list && (list->texts.size() != 64 || list->scores.size() != 64)) __builtin_trap();
  return 0;
}
