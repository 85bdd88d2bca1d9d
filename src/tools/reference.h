// What predictions are judged against: a model's own, or a file of recorded ones.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "tools/progress.h"
#include "tools/texts.h"

namespace terrace::tools {

/// How many of a position's most likely tokens a reference file keeps.
constexpr size_t kTopTokens = 64;

/// Predictions for every position of some texts, one after the other.
class Reference {
 public:
  virtual ~Reference() = default;
  virtual const std::vector<Text>& texts() const = 0;
  virtual size_t vocabulary() const = 0;

  struct Row {
    std::span<const float> logits;  ///< of the whole vocabulary; empty where they are not known
    /// The most likely tokens, best first, with their logarithmic probabilities in the whole vocabulary. Empty when
    /// there are logits.
    std::span<const int32_t> top;
    std::span<const float> top_log_probs;
  };
  /// The next position's; valid until the following call.
  virtual Result<Row> next() = 0;
};

/// A model as the reference; it reads the texts in steps of `chunk` as the rows are asked for.
std::unique_ptr<Reference> model_reference(engine::Engine& engine, std::vector<Text> texts, size_t chunk);

/// A safetensors file: what `terrace logits` writes (logits [n, vocabulary] and tokens [n]), or what save_reference()
/// does. Errors name the file and the array.
Result<std::unique_ptr<Reference>> file_reference(const std::string& path);

/// Writes per text KIND.tokens [n], KIND.top [n, kTopTokens] and KIND.top_log_probs [n, kTopTokens], and
/// vocabulary [1].
Status save_reference(const std::string& path, engine::Engine& engine, const std::vector<Text>& texts,
                      const Progress& progress);

/// ln of the sum of exp, in an order that depends on nothing but the values.
double log_sum_exp(std::span<const float> logits);
/// The indices of the `count` largest, best first, of equal ones the lower index.
std::vector<int32_t> largest(std::span<const float> values, size_t count);

}  // namespace terrace::tools
