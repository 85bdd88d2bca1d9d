// Any bytes as a grammar: an error, or a grammar that can be written under.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "grammar_walk.h"
#include "text/grammar/gbnf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto grammar = terrace::text::parse_gbnf({reinterpret_cast<const char*>(data), size});
  if (!grammar) return grammar.error().message.empty() ? __builtin_trap(), 0 : 0;
  (void)terrace::text::walk_grammar(*grammar, static_cast<uint32_t>(size), 40);
  return 0;
}
