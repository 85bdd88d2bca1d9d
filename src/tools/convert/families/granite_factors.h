// Granite's four factors, which its dense and its hybrid models have.
#pragma once

#include "tools/convert/job.h"

namespace terrace::tools {

inline void write_granite_factors(Job& job) {
  struct Factor {
    const char *from, *to;
  };
  constexpr Factor kFactors[] = {{"attention_multiplier", "attention.scale"},
                                 {"embedding_multiplier", "embedding_scale"},
                                 {"residual_multiplier", "residual_scale"},
                                 {"logits_scaling", "logit_scale"}};
  for (const Factor& factor : kFactors) {
    if (job.config.number_or(factor.from, 0) != 0) job.keys.number(factor.to, job.config.number(factor.from));
  }
}

}  // namespace terrace::tools
