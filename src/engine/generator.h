// Generation: reads a prompt into a sequence, then samples until something ends the answer.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"
#include "engine/sampler.h"

namespace terrace::engine {

struct GenerateOptions {
  SamplerOptions sampler;
  size_t max_tokens = SIZE_MAX;
  std::vector<std::string> stop;  ///< the answer ends before the first of these
  bool ignore_end = false;        ///< goes on after end-of-turn tokens
};

enum class Finish {
  stop,       ///< an end-of-turn token or a stop string
  length,     ///< max_tokens reached
  context,    ///< the context is full
  cancelled,  ///< the callback returned false
};
std::string_view finish_name(Finish finish);

struct Generated {
  std::string text;
  std::vector<int32_t> tokens;  ///< sampled, the end-of-turn token included
  Finish finish = Finish::stop;
  size_t prompt_tokens = 0;
  double prompt_seconds = 0;
  double decode_seconds = 0;
};

/// Takes pieces of the answer as they are certain: whole UTF-8, and nothing that may be the start of a stop string.
/// Returning false ends the generation.
using TextSink = std::function<bool(std::string_view piece)>;

/// Feeds `prompt` to `sequence` and generates. All of `sequence` (what it held before, too) counts for penalties. The
/// sequence holds every sampled token but the last afterwards. An empty prompt on an empty sequence, or one that does
/// not fit, is an error.
Result<Generated> generate(Engine& engine, Sequence& sequence, std::span<const int32_t> prompt,
                           const GenerateOptions& options, const TextSink& sink);

/// Finds stop strings in a text that arrives in pieces. Not thread-safe.
class StopFilter {
 public:
  explicit StopFilter(std::vector<std::string> stops) : stops_(std::move(stops)) {}
  /// The text that is certain once `piece` has come. After stopped() nothing more comes.
  std::string push(std::string_view piece);
  const std::string& stopped_by() const { return stopped_by_; }  ///< empty unless stopped()
  /// What was held back at the end of the answer.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::vector<std::string> stops_;
  std::string held_, stopped_by_;
  bool stopped_ = false;
};

}  // namespace terrace::engine
