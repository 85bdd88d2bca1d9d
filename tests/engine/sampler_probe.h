// Looks at what a sampler does to a logit, from the outside.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/sampler.h"

namespace terrace::engine {

inline SamplerOptions greedy() {
  SamplerOptions o;
  o.temperature = 0;
  return o;
}

// The logits after bias, penalties and DRY cannot be seen, but the order of two tokens can: what must be added to a
// token's logit before it overtakes a token of logit 0 that nothing touches.
inline double adjusted(Sampler& sampler, int32_t token, float logit, size_t vocabulary) {
  double low = -1000;
  double high = 1000;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    std::vector<float> logits(vocabulary, -INFINITY);
    logits[static_cast<size_t>(token)] = logit;
    logits[vocabulary - 1] = static_cast<float>(middle);
    (sampler.sample(logits) == token ? low : high) = middle;
  }
  return low;
}

}  // namespace terrace::engine
