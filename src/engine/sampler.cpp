#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <utility>

namespace terrace::engine {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

uint64_t chosen_seed(uint64_t seed) {
  if (seed != kRandomSeed) return seed;
  std::random_device device;
  const uint64_t high = device();
  const uint64_t chosen = high << 32 | device();
  return chosen == kRandomSeed ? 0 : chosen;
}

bool has_penalties(const SamplerOptions& o) {
  return o.repeat_last_n != 0 && (o.repeat_penalty != 1 || o.frequency_penalty != 0 || o.presence_penalty != 0);
}

}  // namespace

Sampler::Sampler(SamplerOptions options, size_t vocabulary, TokenText text)
    : options_(std::move(options)),
      vocabulary_(vocabulary),
      seed_(chosen_seed(options_.seed)),
      random_(seed_),
      dry_(options_, std::move(text)),
      penalties_(has_penalties(options_)),
      mu_(2 * options_.mirostat_tau) {
  options_.min_keep = std::max<size_t>(options_.min_keep, 1);
}

void Sampler::reset() {
  step_ = 0;
  mu_ = 2 * options_.mirostat_tau;
  history_.clear();
  counts_.clear();
  dry_.reset();
}

void Sampler::accept(int32_t token) {
  if (!penalties_ && !dry_.active()) return;
  if (token < 0 || static_cast<size_t>(token) >= vocabulary_) token = -1;
  history_.push_back(token);
  dry_.accept(token);
  if (!penalties_) return;
  ++counts_[token];
  if (options_.repeat_last_n < 0) return;
  const auto window = static_cast<size_t>(options_.repeat_last_n);
  if (history_.size() <= window) return;
  const auto oldest = counts_.find(history_[history_.size() - 1 - window]);
  if (--oldest->second == 0) counts_.erase(oldest);
}

// Everything that changes single logits, into logits_.
void Sampler::adjust(std::span<const float> logits) {
  logits = logits.first(std::min(logits.size(), vocabulary_));
  logits_.assign(logits.begin(), logits.end());
  for (const auto& [id, bias] : options_.logit_bias) {
    if (static_cast<size_t>(id) < logits_.size()) logits_[static_cast<size_t>(id)] += bias;
  }
  if (penalties_) {
    for (const auto& [id, count] : counts_) {
      if (id < 0 || static_cast<size_t>(id) >= logits_.size()) continue;
      float& logit = logits_[static_cast<size_t>(id)];
      double value = logit;
      // Dividing a negative logit would make the token more probable.
      value = value <= 0 ? value * options_.repeat_penalty : value / options_.repeat_penalty;
      logit = to_float(value - count * options_.frequency_penalty - options_.presence_penalty);
    }
  }
  dry_.apply(history_, logits_);
  if (allowed_.empty()) return;
  for (size_t id = 0; id < logits_.size(); ++id) {
    if (!may_take(id)) logits_[id] = kNever;
  }
}

// The steps from typical to XTC.
void Sampler::narrow() {
  const SamplerOptions& o = options_;
  keep_typical(candidates_, o.typical_p, o.min_keep, weights_);
  keep_top_p(candidates_, o.top_p, o.min_keep, weights_);
  keep_min_p(candidates_, o.min_p, o.min_keep);
  if (o.xtc_probability > 0 && random_.uniform(2 * step_ + 1) < o.xtc_probability) {
    drop_top_choices(candidates_, o.xtc_threshold, o.min_keep, weights_);
  }
}

int32_t Sampler::best() const {
  const float largest = largest_logit(logits_);
  if (largest == kNever) return most_biased();
  return static_cast<int32_t>(std::find(logits_.begin(), logits_.end(), largest) - logits_.begin());
}

int32_t Sampler::choose() {
  const SamplerOptions& o = options_;
  const bool mirostat = o.mirostat == 2;
  if (o.top_k > 0 && !mirostat) {
    candidates_.assign_best(logits_, static_cast<size_t>(o.top_k));
  } else {
    candidates_.assign(logits_);
  }
  if (candidates_.entries.empty()) return most_biased();
  double temperature = o.temperature;
  if (mirostat) {
    keep_surprise(candidates_, mu_, temperature, weights_);
  } else {
    narrow();
    temperature = dynamic_temperature(candidates_, temperature, o.dynatemp_range, o.dynatemp_exponent, weights_);
  }
  if (temperature <= 0) candidates_.keep_best(1);  // the range reached down to it
  const double total = softmax_weights(candidates_, temperature > 0 ? temperature : 1, weights_);
  const size_t index = draw(weights_, total, random_.uniform(2 * step_));
  if (mirostat) mu_ -= o.mirostat_eta * (-std::log2(weights_[index] / total) - o.mirostat_tau);
  return candidates_.entries[index].id;
}

int32_t Sampler::most_biased() const {
  std::vector<float> bias(vocabulary_);
  for (const auto& [id, value] : options_.logit_bias) bias[static_cast<size_t>(id)] += value;
  // A bias of -infinity bans, but what is not allowed is impossible.
  for (size_t id = 0; id < bias.size(); ++id) {
    bias[id] = may_take(id) ? std::max(bias[id], std::numeric_limits<float>::lowest()) : kNever;
  }
  return static_cast<int32_t>(std::max_element(bias.begin(), bias.end()) - bias.begin());
}

int32_t Sampler::sample(std::span<const float> logits, std::span<const uint64_t> allowed) {
  allowed_ = allowed;
  adjust(logits);
  const int32_t token = options_.temperature > 0 ? choose() : best();
  ++step_;
  return token;
}

}  // namespace terrace::engine
