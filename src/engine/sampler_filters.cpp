#include "engine/sampler_filters.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace terrace::engine {
namespace {

// Up to here one pass with a small heap, which most candidates never enter, is used in place of partitioning them all.
constexpr size_t kHeapLimit = 1024;
constexpr size_t kFirstGuess = 256;
// Logits that are looked at together: a fixed number, so that the compiler makes vector instructions of the loops.
constexpr size_t kLanes = 16;
constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr float kLargest = std::numeric_limits<float>::max();

std::ptrdiff_t offset(size_t n) { return static_cast<std::ptrdiff_t>(n); }

// -p ln p for each candidate, with 0 for what cannot happen.
double entropy(std::span<const double> weights, double total) {
  double sum = 0;
  for (const double weight : weights) {
    const double p = weight / total;
    if (p > 0) sum -= p * std::log(p);
  }
  return sum;
}

}  // namespace

void Candidates::assign(std::span<const float> logits) {
  entries.resize(logits.size());
  size_t count = 0;
  for (size_t i = 0; i < logits.size(); ++i) {
    entries[count] = {static_cast<int32_t>(i), std::min(logits[i], kLargest)};
    count += logits[i] > kNever ? 1 : 0;  // false for NaN
  }
  entries.resize(count);
  sorted = 0;
}

void Candidates::assign_best(std::span<const float> logits, size_t count) {
  if (count > kHeapLimit) {
    assign(logits);
    if (!entries.empty()) keep_best(count);
    return;
  }
  count = std::max<size_t>(count, 1);
  entries.clear();
  // A heap of the best so far with the worst of them on top. An equal of that one comes too late to replace it, since
  // ids only grow, so almost all logits cost one comparison.
  float limit = kNever;
  const auto look_at = [&](size_t i) {
    if (!(logits[i] > limit)) return;  // NaN too
    entries.push_back({static_cast<int32_t>(i), std::min(logits[i], kLargest)});
    std::push_heap(entries.begin(), entries.end(), better);
    if (entries.size() > count) {
      std::pop_heap(entries.begin(), entries.end(), better);
      entries.pop_back();
    }
    if (entries.size() == count) limit = entries.front().logit;
  };
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    int hits = 0;
    for (size_t lane = 0; lane < kLanes; ++lane) hits |= logits[i + lane] > limit ? 1 : 0;
    if (hits == 0) continue;
    for (size_t lane = 0; lane < kLanes; ++lane) look_at(i + lane);
  }
  for (; i < logits.size(); ++i) look_at(i);
  std::sort_heap(entries.begin(), entries.end(), better);
  sorted = entries.size();
}

void Candidates::sort_front(size_t count) {
  count = std::min(count, entries.size());
  if (count <= sorted) return;
  const auto first = entries.begin() + offset(sorted);
  const auto middle = entries.begin() + offset(count);
  if (count - sorted <= kHeapLimit) {
    std::partial_sort(first, middle, entries.end(), better);
  } else {
    if (middle != entries.end()) std::nth_element(first, middle, entries.end(), better);
    std::sort(first, middle, better);
  }
  sorted = count;
}

void Candidates::keep_best(size_t count) {
  count = std::clamp<size_t>(count, 1, entries.size());
  sort_front(count);
  entries.resize(count);
  sorted = count;
}

float Candidates::largest() const {
  if (sorted > 0) return entries.front().logit;
  float best = kNever;
  for (const Candidate& candidate : entries) best = std::max(best, candidate.logit);
  return best;
}

float largest_logit(std::span<const float> logits) {
  std::array<float, kLanes> best;
  best.fill(kNever);
  size_t i = 0;
  for (; i + kLanes <= logits.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) {
      best[lane] = logits[i + lane] > best[lane] ? logits[i + lane] : best[lane];
    }
  }
  for (; i < logits.size(); ++i) best[0] = logits[i] > best[0] ? logits[i] : best[0];
  return *std::max_element(best.begin(), best.end());
}

double softmax_weights(const Candidates& candidates, double temperature, std::vector<double>& weights) {
  const double largest = candidates.largest();
  weights.resize(candidates.entries.size());
  double total = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    // The difference is 0 or less, so even a temperature near 0 gives 1 or 0 here and never NaN.
    weights[i] = std::exp((candidates.entries[i].logit - largest) / temperature);
    total += weights[i];
  }
  return total;
}

void keep_top_p(Candidates& candidates, double p, size_t min_keep, std::vector<double>& weights) {
  if (p >= 1) return;
  const double total = softmax_weights(candidates, 1, weights);
  const double largest = candidates.largest();
  double sum = 0;
  size_t count = 0;
  while (count < candidates.entries.size()) {
    if (count == candidates.sorted) candidates.sort_front(count == 0 ? kFirstGuess : count * 8);
    sum += std::exp(candidates.entries[count].logit - largest);
    ++count;
    if (sum >= p * total && count >= min_keep) break;
  }
  candidates.keep_best(count);
}

void keep_min_p(Candidates& candidates, double p, size_t min_keep) {
  if (p <= 0) return;
  const double lowest = candidates.largest() + std::log(p);
  auto& entries = candidates.entries;
  const auto stays = [&](const Candidate& candidate) { return candidate.logit >= lowest; };
  const auto count = static_cast<size_t>(std::count_if(entries.begin(), entries.end(), stays));
  if (count < min_keep) return candidates.keep_best(min_keep);
  std::erase_if(entries, [&](const Candidate& candidate) { return !stays(candidate); });
  candidates.sorted = std::min(candidates.sorted, entries.size());
}

void keep_typical(Candidates& candidates, double p, size_t min_keep, std::vector<double>& weights) {
  if (p >= 1) return;
  candidates.sort_front(candidates.entries.size());
  const double total = softmax_weights(candidates, 1, weights);
  const double mean = entropy(weights, total);
  const size_t size = weights.size();
  std::vector<double> distance(size);
  for (size_t i = 0; i < size; ++i) distance[i] = std::abs(-std::log(weights[i] / total) - mean);
  std::vector<size_t> order(size);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return distance[a] != distance[b] ? distance[a] < distance[b] : a < b; });
  double sum = 0;
  size_t count = 0;
  while (count < size) {
    sum += weights[order[count]];
    ++count;
    if (sum > p * total && count >= min_keep) break;
  }
  order.resize(count);
  std::sort(order.begin(), order.end());
  // Indices only move to the front, so nothing is overwritten before it is read.
  for (size_t i = 0; i < count; ++i) candidates.entries[i] = candidates.entries[order[i]];
  candidates.entries.resize(count);
  candidates.sorted = count;
}

void drop_top_choices(Candidates& candidates, double threshold, size_t min_keep, std::vector<double>& weights) {
  const size_t size = candidates.entries.size();
  if (threshold > 0.5 || size < 2) return;
  const double total = softmax_weights(candidates, 1, weights);
  const auto top = static_cast<size_t>(
      std::count_if(weights.begin(), weights.end(), [&](double weight) { return weight / total >= threshold; }));
  if (top < 2 || size - (top - 1) < min_keep) return;
  candidates.sort_front(top);
  candidates.entries.erase(candidates.entries.begin(), candidates.entries.begin() + offset(top - 1));
  candidates.sorted -= top - 1;
}

void keep_surprise(Candidates& candidates, double limit, double temperature, std::vector<double>& weights) {
  const double total = softmax_weights(candidates, temperature, weights);
  const auto count = static_cast<size_t>(std::count_if(
      weights.begin(), weights.end(), [&](double weight) { return -std::log2(weight / total) <= limit; }));
  candidates.keep_best(count);
}

double dynamic_temperature(const Candidates& candidates, double temperature, double range, double exponent,
                           std::vector<double>& weights) {
  if (range <= 0 || candidates.entries.size() < 2) return temperature;
  const double total = softmax_weights(candidates, 1, weights);
  const double share = entropy(weights, total) / std::log(static_cast<double>(weights.size()));
  const double low = std::max(0.0, temperature - range);
  return low + (temperature + range - low) * std::pow(share, exponent);
}

size_t draw(std::span<const double> weights, double total, double uniform) {
  const double target = uniform * total;
  double sum = 0;
  size_t last = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0) continue;
    sum += weights[i];
    last = i;
    if (sum > target) break;
  }
  return last;
}

}  // namespace terrace::engine
