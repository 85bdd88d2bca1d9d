// A token of an answer, and what the model thought of it before any option changed that.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace terrace::engine {

struct Choice {
  int32_t token = 0;
  float logprob = 0;                           ///< natural; with GenerationRequest::logprobs
  std::vector<std::pair<int32_t, float>> top;  ///< the likeliest tokens, best first
};

/// Fills in the natural logarithms of the probabilities: of the token, and of the `top` likeliest tokens.
void judge(std::span<const float> logits, size_t top, Choice& choice);

}  // namespace terrace::engine
