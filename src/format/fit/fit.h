// What the encoders share: the scales of blocks whose values are scale * code.
//
// An encoder sees a block as sub-blocks ("subs"). A sub knows its values and their weights, and answers for any scale
// how large the weighted squared error is when every value takes its best code (`at`). The functions below look for
// scales with it: ideal ones, and ones a file can hold, which are a half times a small number.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>

#include "base/half.h"
#include "format/fit/lanes.h"

namespace terrace::format {

/// How well codes g fit the values x with weights w, at a scale s.
struct Fit {
  float error = std::numeric_limits<float>::infinity();  ///< sum of w * (x - s * g)^2
  float xg = 0;                                          ///< sum of w * x * g
  float gg = 0;                                          ///< sum of w * g^2: xg / gg is the best scale for these codes
};

/// The nearest half that is finite; 0 for NaN, which sums of extreme values may yield.
inline float nearest_half(float value) {
  return std::isnan(value) ? 0 : half_to_float(float_to_half(std::clamp(value, -65504.0F, 65504.0F)));
}

/// 1 / scale, or 0 where that is not finite: then all codes are those of zero.
inline float inverse_of(float scale) { return std::abs(scale) < 1e-37F ? 0 : 1 / scale; }

/// The scale at which a sub has the least error, among those that `round` yields. Sub::kSteps are what to try, as
/// multiples of sub.reach(), the scale at which the farthest code meets the largest value.
template <class Sub, class Round>
float best_scale(const Sub& sub, Round round) {
  const float reach = sub.reach();
  if (reach == 0) return 0;
  float best = 0;
  Fit found = sub.at(0);
  const auto offer = [&](float wanted) {
    const float scale = round(wanted);
    const Fit fit = sub.at(scale);
    if (!(fit.error < found.error)) return false;
    best = scale;
    found = fit;
    return true;
  };
  for (const float step : Sub::kSteps) offer(step * reach);
  for (int turn = 0; turn < 4 && found.gg > 0; ++turn)
    if (!offer(found.xg / found.gg)) break;
  return best;
}

template <class Sub>
float ideal_scale(const Sub& sub) {
  return best_scale(sub, [](float scale) { return scale; });
}

/// For a sub that has a half of its own as its scale.
template <class Sub>
float half_scale(const Sub& sub) {
  return best_scale(sub, nearest_half);
}

/// The scales of a block: sub j has d * units[index[j]].
template <size_t Subs>
struct Scales {
  float d = 0;  ///< a half
  std::array<size_t, Subs> index{};
};

/// Finds scales of the form d * unit, `units` ascending.
template <class Sub, size_t Subs, size_t Units>
class ScaleSearch {
 public:
  ScaleSearch(const std::array<Sub, Subs>& subs, const std::array<float, Units>& units) : subs_(subs), units_(units) {
    for (size_t j = 0; j < Subs; ++j) ideal_[j] = ideal_scale(subs[j]);
  }

  Scales<Subs> run() {
    float largest = 0;
    for (const float scale : ideal_)
      if (std::abs(scale) > std::abs(largest)) largest = scale;
    best_.index.fill(zero_unit());
    for (size_t j = 0; j < Subs; ++j) error_ += subs_[j].at(0).error;
    if (largest == 0) return best_;
    // The farthest unit takes the largest scale; where units have both signs, the lower end reaches farther.
    const float farthest = units_[0] < 0 ? units_[0] : units_[Units - 1];
    for (const float part : {1.0F, 0.97F, 1.03F, 0.93F, 1.07F, 0.88F, 1.15F, 0.8F}) {
      if (!try_scale(largest / farthest * part)) continue;
      for (int round = 0; round < 3 && gg_ > 0; ++round)
        if (!try_scale(xg_ / gg_)) break;
    }
    return best_;
  }

 private:
  size_t zero_unit() const {
    const auto zero = std::find(units_.begin(), units_.end(), 0.0F);
    return zero == units_.end() ? 0 : static_cast<size_t>(zero - units_.begin());
  }

  size_t nearest_unit(float wanted) const {
    const auto above = std::lower_bound(units_.begin(), units_.end(), wanted);
    if (above == units_.begin()) return 0;
    if (above == units_.end()) return Units - 1;
    return static_cast<size_t>(above - units_.begin()) - (wanted - above[-1] < *above - wanted ? 1 : 0);
  }

  /// Gives every sub its best unit near the ideal one; keeps the result when the block's error falls.
  bool try_scale(float wanted) {
    Scales<Subs> scales;
    scales.d = nearest_half(wanted);
    if (scales.d == 0) return false;
    float error = 0, xg = 0, gg = 0;
    for (size_t j = 0; j < Subs; ++j) {
      const size_t near = nearest_unit(ideal_[j] / scales.d);
      Fit found;
      for (size_t index = near - (near > 0 ? 1 : 0); index < std::min(near + 2, Units); ++index) {
        const Fit fit = subs_[j].at(scales.d * units_[index]);
        if (!(fit.error < found.error)) continue;
        found = fit;
        scales.index[j] = index;
      }
      const float unit = units_[scales.index[j]];
      error += found.error;
      xg += unit * found.xg;
      gg += unit * unit * found.gg;
    }
    if (!(error < error_)) return false;
    error_ = error;
    xg_ = xg;
    gg_ = gg;
    best_ = scales;
    return true;
  }

  const std::array<Sub, Subs>& subs_;
  const std::array<float, Units>& units_;
  std::array<float, Subs> ideal_{};
  Scales<Subs> best_;
  float error_ = 0, xg_ = 0, gg_ = 0;
};

template <class Sub, size_t Subs, size_t Units>
Scales<Subs> choose_scales(const std::array<Sub, Subs>& subs, const std::array<float, Units>& units) {
  return ScaleSearch<Sub, Subs, Units>(subs, units).run();
}

/// First, First + 1, ..: units that are consecutive integers.
template <int First, size_t Count>
constexpr std::array<float, Count> consecutive_units() {
  std::array<float, Count> units{};
  for (size_t i = 0; i < Count; ++i) units[i] = static_cast<float>(First + static_cast<int>(i));
  return units;
}

/// First, First + Step, ..
template <size_t Count>
constexpr std::array<float, Count> spaced_units(float first, float step) {
  std::array<float, Count> units{};
  for (size_t i = 0; i < Count; ++i) units[i] = first + step * static_cast<float>(i);
  return units;
}

}  // namespace terrace::format
