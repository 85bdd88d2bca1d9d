// Running the model fixtures: recorded logits, and logits of a list of tokens however it is cut.
#pragma once

#include <algorithm>

#include "engine/engine.h"
#include "support/files.h"
#include "support/numbers.h"

namespace terrace::testing {

/// Fixtures of the families that exist.
inline const std::vector<std::string> kModels = {"llama",      "llama-rope3", "llmjp",      "qwen2",        "qwen3",
                                                 "qwen3moe",   "granite",     "qwen35",     "qwen35moe",    "qwen3next",
                                                 "lfm2",       "lfm2moe",     "qwen4exp",   "qwen4exp-mtp", "gemma3",
                                                 "gemma3-27b", "gemma4",      "gemma4-moe", "granitehybrid"};

inline std::unique_ptr<engine::Engine> load(const std::string& model, const engine::EngineOptions& options) {
  return take(engine::Engine::load(fixture(model + "/model-f32.gguf"), options));
}

inline void append(std::vector<float>& to, const compute::Rows& rows) {
  for (size_t r = 0; r < rows.count; ++r) to.insert(to.end(), rows.row(r), rows.row(r) + rows.width);
}

/// Feeds tokens to a sequence, `chunk` at a time, and returns the logits after each.
inline std::vector<float> feed(engine::Engine& engine, engine::Sequence& sequence, std::span<const int32_t> tokens,
                               size_t chunk, model::StepObserver* observer = nullptr) {
  std::vector<float> all;
  while (!tokens.empty()) {
    const auto piece = tokens.first(std::min(chunk, tokens.size()));
    const engine::Advance advances[] = {{&sequence, piece, engine::Advance::Logits::all}};
    append(all, take(engine.step(advances, observer)));
    tokens = tokens.subspan(piece.size());
  }
  return all;
}

inline std::vector<float> logits_of(engine::Engine& engine, std::span<const int32_t> tokens, size_t chunk) {
  engine::Sequence sequence;
  return feed(engine, sequence, tokens, chunk);
}

inline std::vector<int32_t> recorded_tokens(const std::string& model) {
  return Arrays(fixture(model + "/golden.safetensors")).values<int32_t>("tokens");
}

}  // namespace terrace::testing
