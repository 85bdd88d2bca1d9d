// What a request may ask of the sampler.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "terrace/result.h"

namespace terrace::engine {

/// As a seed: choose one. It is also what a signed -1 converts to.
inline constexpr uint64_t kRandomSeed = ~uint64_t{0};

/// Names, defaults and meanings are those of llama.cpp, so that its clients' requests keep their meaning.
struct SamplerOptions {
  double temperature = 0.8;   ///< 0 or less: greedy, the most probable token after bias and penalties
  double dynatemp_range = 0;  ///< over 0: the temperature moves in temperature ± range with the entropy
  double dynatemp_exponent = 1;
  int64_t top_k = 40;          ///< 0 or less: off; over the vocabulary: the same as off
  double top_p = 0.95;         ///< 1: off; 0: the most probable token (min_keep of them)
  double min_p = 0.05;         ///< 0: off; 1: the most probable token and its equals
  double typical_p = 1;        ///< 1: off
  double xtc_probability = 0;  ///< 0: off
  double xtc_threshold = 0.1;  ///< over 0.5: off
  int64_t repeat_last_n = 64;  ///< tokens the three penalties see; 0: off, -1: all
  double repeat_penalty = 1;   ///< 1: off
  double frequency_penalty = 0;
  double presence_penalty = 0;
  double dry_multiplier = 0;  ///< 0: off
  double dry_base = 1.75;     ///< below 1: off
  int64_t dry_allowed_length = 2;
  int64_t dry_penalty_last_n = -1;  ///< 0: off, -1: all tokens
  std::vector<std::string> dry_sequence_breakers = {"\n", ":", "\"", "*"};
  int mirostat = 0;  ///< 0: off; 2: version 2, in place of top-k, typical, top-p, min-p and XTC
  double mirostat_tau = 5;
  double mirostat_eta = 0.1;
  std::vector<std::pair<int32_t, float>> logit_bias;  ///< -infinity bans a token; an id that comes twice gets the sum
  uint64_t seed = kRandomSeed;
  size_t min_keep = 1;  ///< top-p, min-p, typical and XTC leave this many; 0 means 1
};

/// Whether a sampler can follow `options`; if not, which field, its value, and what is possible.
Status validate(const SamplerOptions& options, size_t vocabulary);

}  // namespace terrace::engine
