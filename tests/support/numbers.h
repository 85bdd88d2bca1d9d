// Random inputs and bit-for-bit comparisons.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "compute/backend.h"

namespace terrace::testing {

inline std::vector<float> random_floats(std::mt19937& random, size_t count, float deviation = 1) {
  std::normal_distribution<float> normal(0, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

inline std::vector<float> random_floats(uint32_t seed, size_t count) {
  std::mt19937 random(seed);
  return random_floats(random, count);
}

/// Whether two rows have the same bits; the message gives the first difference.
inline ::testing::AssertionResult same_bits(std::span<const float> a, std::span<const float> b) {
  if (a.size() != b.size()) return ::testing::AssertionFailure() << a.size() << " and " << b.size() << " values";
  for (size_t i = 0; i < a.size(); ++i) {
    if (std::bit_cast<uint32_t>(a[i]) != std::bit_cast<uint32_t>(b[i]))
      return ::testing::AssertionFailure() << "value " << i << ": " << a[i] << " and " << b[i];
  }
  return ::testing::AssertionSuccess();
}

/// Rows of floats that own their memory.
class OwnRows {
 public:
  OwnRows(size_t count, size_t width, size_t stride = 0)
      : width_(width), stride_(stride ? stride : width), values_(count * stride_) {}
  OwnRows(size_t width, std::vector<float> values) : width_(width), stride_(width), values_(std::move(values)) {}
  compute::Rows rows() { return {values_.data(), values_.size() / stride_, width_, stride_}; }
  std::vector<float>& values() { return values_; }

 private:
  size_t width_, stride_;
  std::vector<float> values_;
};

}  // namespace terrace::testing
