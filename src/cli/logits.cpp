// terrace logits: teacher-forced logits of a list of tokens, for tests and comparisons.
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "format/safetensors.h"

namespace terrace::cli {
namespace {

using format::SafetensorsArray;

struct LogitsOptions {
  ModelOptions model;
  std::string tokens, out;
  size_t chunk = 512;
  size_t step_from = 0;
};

Result<std::vector<int32_t>> read_tokens(const std::string& path) {
  TERRACE_TRY(const std::string text, read_text(path));
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array() || json.empty()) return fail("{}: expected a JSON list of token ids", path);
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < json.size(); ++i) {
    if (!json[i].is_number_integer() || json[i].get<int64_t>() < 0 || json[i].get<int64_t>() > INT32_MAX) {
      return fail("{}: element {} is no token id", path, i);
    }
    tokens.push_back(json[i].get<int32_t>());
  }
  return tokens;
}

/// Feeds tokens[first..last) in chunks and writes each row's logits.
Status write_logits(engine::Engine& engine, engine::Sequence& sequence, std::span<const int32_t> tokens, size_t chunk,
                    format::SafetensorsWriter& writer) {
  while (!tokens.empty()) {
    if (interrupted()) return fail("interrupted");
    const auto piece = tokens.first(std::min(chunk, tokens.size()));
    const engine::Advance advance[] = {{&sequence, piece, engine::Advance::Logits::all}};
    TERRACE_TRY(const compute::Rows logits, engine.step(advance));
    for (size_t r = 0; r < logits.count; ++r)
      TERRACE_CHECK(writer.write(std::as_bytes(std::span(logits.row(r), logits.width))));
    tokens = tokens.subspan(piece.size());
  }
  return Done{};
}

Status run(const LogitsOptions& options) {
  catch_interrupts();
  TERRACE_TRY(const auto tokens, read_tokens(options.tokens));
  TERRACE_TRY(auto engine, load_engine(options.model));
  if (options.step_from > tokens.size())
    return fail("--step-from {} is past the {} tokens", options.step_from, tokens.size());
  const uint64_t vocabulary = engine->info().vocabulary,
                 steps = options.step_from > 0 ? tokens.size() - options.step_from : 0;
  std::vector<std::pair<std::string, SafetensorsArray>> arrays = {{"logits", {"F32", {tokens.size(), vocabulary}, {}}}};
  if (steps > 0) arrays.push_back({"logits_step", {"F32", {steps, vocabulary}, {}}});
  arrays.push_back({"tokens", {"I32", {tokens.size()}, {}}});
  TERRACE_TRY(auto writer, format::SafetensorsWriter::create(options.out, arrays));
  engine::Sequence sequence;
  const auto all = std::span(tokens);
  TERRACE_CHECK(write_logits(*engine, sequence, all.first(options.step_from), options.chunk, writer));
  const engine::Checkpoint start = sequence.checkpoint();
  TERRACE_CHECK(write_logits(*engine, sequence, all.subspan(options.step_from), options.chunk, writer));
  if (steps > 0) {
    TERRACE_CHECK(sequence.restore(start));
    TERRACE_CHECK(write_logits(*engine, sequence, std::span(tokens).subspan(options.step_from), 1, writer));
  }
  TERRACE_CHECK(writer.write(std::as_bytes(std::span(tokens))));
  return writer.finish();
}

}  // namespace

void add_logits(CLI::App& app, Action& action) {
  CLI::App* command = app.add_subcommand("logits", "Teacher-forced logits of a list of tokens");
  auto options = std::make_shared<LogitsOptions>();
  options->model.add(*command, /*required=*/true);
  command->add_option("--tokens", options->tokens, "JSON list of token ids")->required();
  command->add_option("--out", options->out, "Output: safetensors with logits [n, vocabulary] and tokens")->required();
  command->add_option("--chunk", options->chunk, "Tokens per step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command->add_option("--step-from", options->step_from,
                      "Also compute the tokens from this one on one at a time, as logits_step");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace terrace::cli
