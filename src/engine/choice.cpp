#include "engine/choice.h"

#include <cmath>

#include "engine/sampler_filters.h"

namespace terrace::engine {

void judge(std::span<const float> logits, size_t top, Choice& choice) {
  const float largest = largest_logit(logits);
  double sum = 0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - static_cast<double>(largest));
  const double norm = static_cast<double>(largest) + std::log(sum);
  const auto logprob = [&](float logit) { return static_cast<float>(static_cast<double>(logit) - norm); };
  choice.logprob = logprob(logits[static_cast<size_t>(choice.token)]);
  if (top == 0) return;
  Candidates best;
  best.assign_best(logits, top);
  for (const Candidate& candidate : best.entries) choice.top.emplace_back(candidate.id, logprob(candidate.logit));
}

}  // namespace terrace::engine
