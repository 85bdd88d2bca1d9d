// Subs (fit.h) whose codes are consecutive integers, or come from a list of levels.
#pragma once

#include <cstdint>

#include "format/fit/fit.h"

namespace terrace::format {

inline float largest_magnitude(const float* x, size_t count) {
  float largest = 0;
  for (size_t i = 0; i < count; ++i) largest = std::max(largest, std::abs(x[i]));
  return largest;
}

/// Multiples of reach to try when codes go to Far in size: for fine codes a little to both sides of 1, for coarse ones
/// far below it, since cutting off the largest values makes all others finer.
template <int Far, bool BothSigns>
constexpr auto scale_steps() {
  constexpr size_t count = 20;
  std::array<float, BothSigns ? 2 * count : count> steps{};
  for (size_t i = 0; i < count; ++i) {
    const float tries = static_cast<float>(i), far = static_cast<float>(Far);
    const float step = Far == 1 ? 1.05F - 0.04F * tries : far / (far - 0.9F + 0.19F * tries);
    steps[i] = step;
    if (BothSigns) steps[count + i] = -step;
  }
  return steps;
}

/// N values with codes Lo..Hi.
template <size_t N, int Lo, int Hi>
struct UniformSub {
  static constexpr int kFar = -Lo > Hi ? -Lo : Hi;
  static constexpr auto kSteps = scale_steps<kFar, -Lo != Hi>();
  const float* x = nullptr;
  const float* w = nullptr;

  float reach() const { return largest_magnitude(x, N) / kFar; }

  Fit at(float scale) const {
    const float inverse = inverse_of(scale);
    Lanes error{}, xg{}, gg{};
    for (size_t i = 0; i < N; i += kLanes) {
      const Lanes value = load_lanes(x + i), weight = load_lanes(w + i);
      const Lanes code = nearest_codes(value * inverse, Lo, Hi);
      const Lanes rest = value - scale * code;
      const Lanes weighted = weight * code;
      error += weight * rest * rest;
      xg += weighted * value;
      gg += weighted * code;
    }
    return {total(error), total(xg), total(gg)};
  }

  /// The code of value i at a scale.
  int code(size_t i, float scale) const { return static_cast<int>(nearest_code(x[i] * inverse_of(scale), Lo, Hi)); }
};

/// The different ones of 16 levels, ascending, and where each lies in the list.
struct SortedLevels {
  std::array<float, 16> levels{};
  std::array<uint8_t, 16> codes{};
  size_t count = 0;
  float far = 0;  ///< the largest magnitude

  explicit constexpr SortedLevels(const int (&list)[16]) {
    for (uint8_t code = 0; code < 16; ++code) add(static_cast<float>(list[code]), code);
    far = levels[count - 1] > -levels[0] ? levels[count - 1] : -levels[0];
  }

 private:
  constexpr void add(float level, uint8_t code) {
    size_t at = count;
    for (; at > 0 && levels[at - 1] >= level; --at)
      if (levels[at - 1] == level) return;
    for (size_t i = count; i > at; --i) levels[i] = levels[i - 1], codes[i] = codes[i - 1];
    levels[at] = level;
    codes[at] = code;
    ++count;
  }
};

/// N values with the levels of Levels::kSorted.
template <size_t N, class Levels>
struct LevelSub {
  static constexpr auto kSteps = scale_steps<8, true>();
  static constexpr const SortedLevels& kSorted = Levels::kSorted;
  const float* x = nullptr;
  const float* w = nullptr;

  float reach() const { return largest_magnitude(x, N) / kSorted.far; }

  /// Halfway between a level and the next one.
  static constexpr float boundary(size_t k) { return (kSorted.levels[k] + kSorted.levels[k + 1]) * 0.5F; }

  Fit at(float scale) const {
    const float inverse = inverse_of(scale);
    Lanes error{}, xg{}, gg{};
    for (size_t i = 0; i < N; i += kLanes) {
      const Lanes value = load_lanes(x + i), weight = load_lanes(w + i), wanted = value * inverse;
      Lanes level = all_lanes(kSorted.levels[0]);
      for (size_t k = 0; k + 1 < kSorted.count; ++k)
        level = wanted > boundary(k) ? all_lanes(kSorted.levels[k + 1]) : level;
      const Lanes rest = value - scale * level;
      error += weight * rest * rest;
      xg += weight * value * level;
      gg += weight * level * level;
    }
    return {total(error), total(xg), total(gg)};
  }

  int code(size_t i, float scale) const {
    const float wanted = x[i] * inverse_of(scale);
    size_t k = 0;
    while (k + 1 < kSorted.count && wanted > boundary(k)) ++k;
    return kSorted.codes[k];
  }
};

/// The subs of a block: count runs of N values.
template <class Sub, size_t Subs>
std::array<Sub, Subs> cut_subs(const float* x, const float* w, size_t values) {
  std::array<Sub, Subs> subs;
  for (size_t j = 0; j < Subs; ++j) subs[j] = {x + j * values, w + j * values};
  return subs;
}

}  // namespace terrace::format
