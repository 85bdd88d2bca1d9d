// Prints how long a constraint takes per token: grammar MODEL.gguf. The mask before each token of an answer, the first
// time in a process (cold) and again (warm).
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "format/gguf.h"
#include "text/grammar/constraint.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/lazy_constraint.h"
#include "text/tokenizer.h"

using namespace terrace;
using Clock = std::chrono::steady_clock;

namespace {

const char* const kTool = R"({"type":"object","properties":{
  "query":{"type":"string","description":"what to search for"},
  "limit":{"type":"integer","minimum":1,"maximum":100},
  "sort":{"type":"string","enum":["relevance","date","price"]},
  "filters":{"type":"array","items":{"type":"object","properties":{
    "field":{"type":"string"},"op":{"enum":["eq","lt","gt"]},"value":{"anyOf":[{"type":"string"},{"type":"number"},{"type":"boolean"}]}},
    "required":["field","op","value"],"additionalProperties":false}},
  "since":{"type":"string","format":"date"},
  "verbose":{"type":"boolean"}},"required":["query","filters"],"additionalProperties":false})";

const char* const kAnswer =
    R"({"query": "tide tables for the north coast, \"spring\" tides only", "limit": 25, "sort": "date", "filters": [{"field": "region", "op": "eq", "value": "north"}, {"field": "height_m", "op": "gt", "value": 4.25}, {"field": "official", "op": "eq", "value": true}], "since": "2024-02-29", "verbose": false})";

int complain(const std::string& message) {
  std::fprintf(stderr, "%s\n", message.c_str());
  return 1;
}

// Microseconds of the mask and of accepting, per token.
std::vector<double> follow(const std::shared_ptr<const text::CompiledGrammar>& grammar,
                           const std::vector<int32_t>& ids) {
  std::vector<double> times;
  text::Constraint place(grammar);
  for (const int32_t id : ids) {
    const auto start = Clock::now();
    const bool allowed = place.mask()[static_cast<size_t>(id) / 64] >> (id % 64) & 1;
    if (!allowed || !place.accept(id)) {
      std::fprintf(stderr, "token %d of the answer is not allowed\n", id);
      break;
    }
    times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  std::sort(times.begin(), times.end());
  return times;
}

void report(const char* name, const std::vector<double>& times) {
  const auto at = [&](double share) {
    return times[static_cast<size_t>(share * static_cast<double>(times.size() - 1))];
  };
  std::printf("  %-5s %zu tokens: median %.1f us, p99 %.1f us, worst %.1f us\n", name, times.size(), at(0.5), at(0.99),
              times.back());
}

void measure(const char* name, const text::Tokenizer& tokenizer,
             const std::shared_ptr<const text::TokenVocabulary>& vocabulary, const Result<text::Grammar>& grammar,
             const std::string& answer) {
  if (!grammar) return (void)complain(grammar.error().message);
  std::printf("%s\n", name);
  const auto compiled = std::make_shared<text::CompiledGrammar>(*grammar, vocabulary);
  const auto ids = tokenizer.encode(answer, {.parse_special = true});
  report("cold", follow(compiled, ids));
  std::vector<double> warm;
  for (int i = 0; i < 100; ++i) {
    const auto times = follow(compiled, ids);
    warm.insert(warm.end(), times.begin(), times.end());
  }
  std::sort(warm.begin(), warm.end());
  report("warm", warm);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return complain("usage: grammar MODEL.gguf");
  auto file = format::GgufFile::open(argv[1]);
  if (!file) return complain(file.error().message);
  auto read = text::read_vocabulary(file->metadata());
  if (!read) return complain(read.error().message);
  auto created = text::Tokenizer::create(*std::move(read));
  if (!created) return complain(created.error().message);
  const text::Tokenizer& tokenizer = **created;

  auto start = Clock::now();
  const auto vocabulary = text::TokenVocabulary::create(tokenizer);
  std::printf("vocabulary of %zu tokens, %zu nodes: %.1f ms\n", vocabulary->size(), vocabulary->nodes().size(),
              std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  const auto schema = nlohmann::ordered_json::parse(kTool);
  start = Clock::now();
  const auto tool = text::json_schema_grammar(schema);
  std::printf("compiling the tool's schema: %.2f ms\n",
              std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  measure("arguments of a tool", tokenizer, vocabulary, tool, kAnswer);
  measure("any JSON", tokenizer, vocabulary, text::json_schema_grammar(true),
          R"({"a": {"b": [{"c": {"d": [[)" + std::string(kAnswer) + R"(], [1, 2.5, null]]}}, "text"]}, "e": )" +
              kAnswer + "}");
  text::GrammarBuilder builder;
  if (const auto arguments = builder.json_schema(schema)) {
    const auto call =
        builder.sequence({builder.literal("<tool_call>\n"), *arguments, builder.literal("\n</tool_call>")});
    measure("prose, then a call", tokenizer, vocabulary,
            builder.build(text::lazy(builder, {{"<tool_call>", call, true}}, {.free_text_after = true})),
            "I will look that up in the tables of the <b>north</b> coast.\n\n<tool_call>\n" + std::string(kAnswer) +
                "\n</tool_call>\nDone: the tables follow.");
  }
}
