// Chooses the next token from the logits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/dry.h"
#include "engine/sampler_filters.h"
#include "engine/sampler_options.h"
#include "engine/sampler_random.h"

namespace terrace::engine {

/// Logit bias, repetition penalties, DRY, top-k, typical, top-p, min-p, XTC, temperature, draw - in this order. With a
/// temperature of 0 or less the best token is taken after DRY; with mirostat its own limit, under the temperature, is
/// in place of the steps from top-k on.
///
/// The same options, seed, accepted tokens and logits give the same tokens. A copy goes on as the original would. Not
/// thread-safe.
class Sampler {
 public:
  /// `options` have passed validate(). `text` gives the bytes of tokens for the DRY breakers; it may be empty.
  Sampler(SamplerOptions options, size_t vocabulary, TokenText text = {});

  /// One token; it is not accepted by this. NaN counts as -infinity; where nothing is left, it is the token with the
  /// largest bias (the lowest id of several). Logits over the vocabulary, such as a padding, are not looked at.
  /// `allowed` has a bit per id, from the lowest of the first word on: only tokens with theirs set are taken. Empty:
  /// all are; else at least one must be.
  int32_t sample(std::span<const float> logits, std::span<const uint64_t> allowed = {});
  /// A token of the prompt or of the answer, for the penalties. An id that is not in the vocabulary stands for
  /// something that is no text.
  void accept(int32_t token);
  /// As new, with the same seed even if it was chosen at random.
  void reset();

  const SamplerOptions& options() const { return options_; }
  /// The seed in use, never kRandomSeed.
  uint64_t seed() const { return seed_; }

 private:
  void adjust(std::span<const float> logits);
  bool may_take(size_t id) const {
    return allowed_.empty() || (id / 64 < allowed_.size() && (allowed_[id / 64] >> (id % 64) & 1) != 0);
  }
  void narrow();
  int32_t best() const;
  int32_t choose();
  int32_t most_biased() const;

  SamplerOptions options_;
  size_t vocabulary_;
  uint64_t seed_;
  CounterRandom random_;
  Dry dry_;
  bool penalties_;
  uint64_t step_ = 0;             ///< samples taken; the draws of a step are numbers 2 * step and 2 * step + 1
  double mu_;                     ///< mirostat: the surprise in bits above which a token is not taken
  std::vector<int32_t> history_;  ///< empty if nothing looks at it
  std::unordered_map<int32_t, uint32_t> counts_;  ///< of the tokens in the window of the penalties
  std::span<const uint64_t> allowed_;             ///< during sample()
  // Kept between steps, so that a step allocates little once they have grown.
  std::vector<float> logits_;
  Candidates candidates_;
  std::vector<double> weights_;
};

}  // namespace terrace::engine
