// Random numbers that are the same for the same seed with every compiler and C++ library.
#pragma once

#include <cstdint>

namespace terrace::engine {

/// SplitMix64 read as a function of a counter: number n of a seed is mix(mix(seed) + (n + 1) * golden ratio). Nothing
/// is consumed, so a step that draws more or less often than another shifts nobody's numbers. The seed is mixed first
/// because the streams of seeds that differ by a multiple of the golden ratio would otherwise overlap.
class CounterRandom {
 public:
  explicit CounterRandom(uint64_t seed) : base_(mix(seed)) {}

  uint64_t bits(uint64_t counter) const { return mix(base_ + (counter + 1) * 0x9E3779B97F4A7C15u); }
  /// Uniform in [0, 1): the upper 53 bits, which is all a double can hold.
  double uniform(uint64_t counter) const { return static_cast<double>(bits(counter) >> 11) * 0x1p-53; }

 private:
  static constexpr uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return x ^ (x >> 31);
  }

  uint64_t base_;
};

}  // namespace terrace::engine
