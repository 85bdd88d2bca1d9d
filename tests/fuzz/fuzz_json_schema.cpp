// Any JSON as a schema: an error, or a grammar under which only JSON is written.
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "grammar_walk.h"
#include "text/grammar/json_schema.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto schema = nlohmann::ordered_json::parse(data, data + size, nullptr, false);
  if (schema.is_discarded()) return 0;
  const auto grammar = terrace::text::json_schema_grammar(schema);
  if (!grammar) return grammar.error().message.empty() ? __builtin_trap(), 0 : 0;
  const auto walk = terrace::text::walk_grammar(*grammar, static_cast<uint32_t>(size), 60);
  if (walk.complete && !nlohmann::json::accept(walk.text)) __builtin_trap();
  return 0;
}
