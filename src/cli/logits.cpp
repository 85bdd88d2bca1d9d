// terrace logits: teacher-forced logits of a list of tokens, for tests and comparisons.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/file.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "format/safetensors.h"
#include "model/internals_recorder.h"

namespace terrace::cli {
namespace {

using format::SafetensorsArray;

struct LogitsOptions {
  ModelOptions model;
  std::string tokens, out;
  size_t chunk = 512;
  size_t step_from = 0;
  bool drafts = false;
  std::string draft_path;
  bool internals = false;
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

Status write_rows(format::SafetensorsWriter& writer, const compute::Rows& rows) {
  for (size_t r = 0; r < rows.count; ++r)
    TERRACE_CHECK(writer.write(std::as_bytes(std::span(rows.row(r), rows.width))));
  return Done{};
}

/// A run over the tokens: what it keeps for the arrays that follow the logits in the file.
struct Run {
  engine::Engine& engine;
  const LogitsOptions& options;
  format::SafetensorsWriter& writer;
  model::InternalsRecorder internals;
  std::vector<float> hidden;  ///< of each row, for the draft head
  int32_t last_choice = 0;    ///< the most likely token after the last row

  /// Feeds tokens in chunks and writes each row's logits.
  Status feed(engine::Sequence& sequence, std::span<const int32_t> tokens, size_t chunk, bool keep) {
    while (!tokens.empty()) {
      if (interrupted()) return fail("interrupted");
      const auto piece = tokens.first(std::min(chunk, tokens.size()));
      const engine::Advance advance[] = {{&sequence, piece, engine::Advance::Logits::all}};
      TERRACE_TRY(const compute::Rows logits, engine.step(advance, keep && options.internals ? &internals : nullptr));
      TERRACE_CHECK(write_rows(writer, logits));
      const float* last = logits.row(logits.count - 1);
      last_choice = static_cast<int32_t>(std::max_element(last, last + logits.width) - last);
      const compute::Rows rows = engine.hidden();
      if (keep && options.drafts) hidden.insert(hidden.end(), rows.data, rows.data + rows.count * rows.width);
      tokens = tokens.subspan(piece.size());
    }
    return Done{};
  }

  /// The draft head's logits for each row, given the token that really follows (the last: the most likely one).
  Status write_drafts(engine::Sequence& sequence, std::span<const int32_t> next) {
    const size_t width = engine.info().draft_width;
    for (size_t first = 0; first < next.size(); first += options.chunk) {
      if (interrupted()) return fail("interrupted");
      const size_t count = std::min(options.chunk, next.size() - first);
      const compute::Rows rows{hidden.data() + first * width, count, width, width};
      TERRACE_TRY(const compute::Rows logits, engine.draft({&sequence, first, next.subspan(first, count), rows}));
      TERRACE_CHECK(write_rows(writer, logits));
    }
    return writer.write(std::as_bytes(next));
  }

  Status write_internals(size_t rows) {
    for (const auto& [layer, experts] : internals.experts())
      TERRACE_CHECK(writer.write(std::as_bytes(std::span(experts))));
    for (const auto& [layer, weights] : internals.weights())
      TERRACE_CHECK(writer.write(std::as_bytes(std::span(weights))));
    for (const auto& [layer, selected] : internals.selected()) {
      for (std::vector<uint8_t> row : selected) {
        row.resize(rows);
        TERRACE_CHECK(writer.write(std::as_bytes(std::span(row))));
      }
    }
    return Done{};
  }
};

using Arrays = std::vector<std::pair<std::string, SafetensorsArray>>;

/// The arrays of the output, in the order in which they are written.
Arrays arrays_of(const model::ModelInfo& info, const LogitsOptions& options, uint64_t tokens, uint64_t steps) {
  const uint64_t vocabulary = info.vocabulary;
  Arrays arrays = {{"logits", {"F32", {tokens, vocabulary}, {}}}};
  if (steps > 0) arrays.push_back({"logits_step", {"F32", {steps, vocabulary}, {}}});
  arrays.push_back({"tokens", {"I32", {tokens}, {}}});
  if (options.drafts) {
    arrays.push_back({"mtp_logits", {"F32", {tokens, vocabulary}, {}}});
    arrays.push_back({"mtp_tokens", {"I32", {tokens}, {}}});
  }
  if (options.internals && info.routed_layers > 0) {
    arrays.push_back({"experts", {"I32", {info.routed_layers, tokens, info.experts_used}, {}}});
    arrays.push_back({"expert_weights", {"F32", {info.routed_layers, tokens, info.experts_used}, {}}});
  }
  if (options.internals && info.selecting_layers > 0)
    arrays.push_back({"qsa_selected", {"U8", {info.selecting_layers, tokens, tokens}, {}}});
  return arrays;
}

Status run(const LogitsOptions& options) {
  catch_interrupts();
  TERRACE_TRY(const auto tokens, read_tokens(options.tokens));
  ModelOptions model_options = options.model;
  model_options.draft_head = options.drafts;
  model_options.draft_path = options.draft_path;
  TERRACE_TRY(auto engine, load_engine(model_options));
  if (options.step_from > tokens.size())
    return fail("--step-from {} is past the {} tokens", options.step_from, tokens.size());
  const uint64_t steps = options.step_from > 0 ? tokens.size() - options.step_from : 0;
  TERRACE_TRY(auto writer,
              format::SafetensorsWriter::create(options.out, arrays_of(engine->info(), options, tokens.size(), steps)));
  Run run{*engine, options, writer, {}, {}, 0};
  engine::Sequence sequence;
  const auto all = std::span(tokens);
  TERRACE_CHECK(run.feed(sequence, all.first(options.step_from), options.chunk, /*keep=*/true));
  const engine::Checkpoint start = sequence.checkpoint();
  TERRACE_CHECK(run.feed(sequence, all.subspan(options.step_from), options.chunk, /*keep=*/true));
  const int32_t last_choice = run.last_choice;
  if (steps > 0) {
    sequence.restore(start);
    TERRACE_CHECK(run.feed(sequence, all.subspan(options.step_from), 1, /*keep=*/false));
  }
  TERRACE_CHECK(writer.write(std::as_bytes(all)));
  if (options.drafts) {
    std::vector<int32_t> next(tokens.begin() + 1, tokens.end());
    next.push_back(last_choice);
    TERRACE_CHECK(run.write_drafts(sequence, next));
  }
  if (options.internals) TERRACE_CHECK(run.write_internals(tokens.size()));
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
  CLI::Option* drafts = command->add_flag("--mtp", options->drafts,
                                          "Also the multi-token-prediction head's, as mtp_logits and mtp_tokens");
  command->add_option("--mtp-model", options->draft_path, "The GGUF file that holds the head, if not the model's own")
      ->needs(drafts);
  command->add_flag("--internals", options->internals,
                    "Also router choices and selected blocks, as experts, expert_weights and qsa_selected");
  command->callback([options, &action] { action = [options] { return run(*options); }; });
}

}  // namespace terrace::cli
