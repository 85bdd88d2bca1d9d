// How two lists of logits agree.
#pragma once

#include <cmath>
#include <span>
#include <vector>

namespace terrace::testing {

struct Agreement {
  double error = 0;   ///< largest difference over the standard deviation of the expected logits
  double kl = 0;      ///< mean over positions of KL(expected || actual)
  double within = 0;  ///< share of positions whose largest difference is below 1e-3 standard deviations
};

inline double log_sum(std::span<const float> logits) {
  double largest = -INFINITY, sum = 0;
  for (const float x : logits) largest = std::max(largest, double{x});
  for (const float x : logits) sum += std::exp(x - largest);
  return largest + std::log(sum);
}

inline double deviation(std::span<const float> values) {
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
  }
  const auto count = static_cast<double>(values.size());
  return std::sqrt(squares / count - sum / count * (sum / count));
}

/// `expected` and `actual` are rows of `width`; lists of different lengths, and NaN, agree in nothing.
inline Agreement agreement(std::span<const float> expected, std::span<const float> actual, size_t width) {
  Agreement result;
  if (expected.size() != actual.size() || expected.empty()) return {INFINITY, INFINITY, 0};
  const double scale = deviation(expected);
  const size_t rows = expected.size() / width;
  size_t close = 0;
  for (size_t r = 0; r < rows; ++r) {
    const auto e = expected.subspan(r * width, width), a = actual.subspan(r * width, width);
    const double log_e = log_sum(e), log_a = log_sum(a);
    double largest = 0, kl = 0;
    for (size_t i = 0; i < width; ++i) {
      const double difference = std::fabs(double{e[i]} - a[i]);
      if (!(difference <= largest)) largest = difference;  // a NaN stays
      kl += std::exp(e[i] - log_e) * ((e[i] - log_e) - (a[i] - log_a));
    }
    result.kl += kl / static_cast<double>(rows);
    if (!(largest / scale <= result.error)) result.error = largest / scale;
    if (largest / scale < 1e-3) ++close;
  }
  result.within = static_cast<double>(close) / static_cast<double>(rows);
  return result;
}

}  // namespace terrace::testing
