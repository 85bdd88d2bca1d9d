// The affine types' search: values = scale * code - minimum, codes 0..Hi, per sub-block.
#pragma once

#include <cstdint>
#include <utility>

#include "format/fit/uniform.h"

namespace terrace::format {

struct ScaleAndMinimum {
  float scale = 0, minimum = 0;
};

/// Sums over a sub's values and codes q at some scale and minimum, enough for the best scale and minimum for these
/// codes.
struct AffineFit {
  float error = std::numeric_limits<float>::infinity();
  float w = 0, wq = 0, wqq = 0, wx = 0, wxq = 0;
};

template <size_t N, int Hi>
struct AffineSub {
  const float* x = nullptr;
  const float* w = nullptr;

  AffineFit at(ScaleAndMinimum s) const {
    const float inverse = inverse_of(s.scale);
    Lanes error{}, weights{}, wq{}, wqq{}, wx{}, wxq{};
    for (size_t i = 0; i < N; i += kLanes) {
      const Lanes value = load_lanes(x + i), weight = load_lanes(w + i), moved = value + s.minimum;
      const Lanes code = nearest_codes(moved * inverse, 0, Hi);
      const Lanes rest = moved - s.scale * code, weighted = weight * code;
      error += weight * rest * rest;
      weights += weight;
      wq += weighted;
      wqq += weighted * code;
      wx += weight * value;
      wxq += weighted * value;
    }
    return {total(error), total(weights), total(wq), total(wqq), total(wx), total(wxq)};
  }

  int code(size_t i, ScaleAndMinimum s) const {
    return static_cast<int>(nearest_code((x[i] + s.minimum) * inverse_of(s.scale), 0, Hi));
  }
};

/// The best scale and minimum for the codes of a fit, the minimum going with the rounded scale. Signed: the minimum may
/// be below zero.
template <class Round>
ScaleAndMinimum best_for_codes(const AffineFit& fit, bool is_signed, Round round) {
  const float determinant = fit.w * fit.wqq - fit.wq * fit.wq;
  if (determinant > 0) {
    const float scale = round((fit.w * fit.wxq - fit.wq * fit.wx) / determinant);
    const float minimum = (scale * fit.wq - fit.wx) / fit.w;
    if (is_signed || minimum >= 0) return {scale, minimum};
  }
  return {fit.wqq > 0 ? fit.wxq / fit.wqq : 0, 0};
}

/// The scale and minimum with the least error, among those that `round` yields.
template <size_t N, int Hi, class Round>
ScaleAndMinimum best_affine(const AffineSub<N, Hi>& sub, bool is_signed, Round round) {
  const auto [low, high] = std::minmax_element(sub.x, sub.x + N);
  const float bottom = is_signed ? *low : std::min(*low, 0.0F);
  const float range = std::max(*high, is_signed ? *high : 0.0F) - bottom;
  ScaleAndMinimum best{0, round(-bottom)};
  AffineFit found = sub.at(best);
  const auto offer = [&](ScaleAndMinimum wanted) {
    const ScaleAndMinimum s{round(wanted.scale), round(wanted.minimum)};
    const AffineFit fit = sub.at(s);
    const bool better = fit.error < found.error;
    if (better) best = s, found = fit;
    return std::pair(better, fit);
  };
  if (range == 0) return best;
  // How many codes the range takes, and how much of it is cut off at its ends; then once with the best scale and
  // minimum for the codes this gives.
  const auto attempt = [&](float codes, float cut) {
    const ScaleAndMinimum start{range * (1 - cut) / codes, -(bottom + range * cut * 0.6F)};
    if (start.minimum >= 0 || is_signed) offer(best_for_codes(offer(start).second, is_signed, round));
  };
  constexpr auto kCodes = static_cast<float>(Hi);
  for (int step = 0; step < 20; ++step) attempt(kCodes - 0.9F + 0.1F * static_cast<float>(step), 0);
  for (const float cut : {0.07F, 0.14F, 0.21F})
    for (int step = 0; step < 8; ++step) attempt(kCodes - 0.5F + 0.25F * static_cast<float>(step), cut);
  for (int turn = 0; turn < 4; ++turn)
    if (!offer(best_for_codes(found, is_signed, round)).first) break;
  return best;
}

template <size_t N, int Hi>
ScaleAndMinimum ideal_affine(const AffineSub<N, Hi>& sub) {
  return best_affine(sub, false, [](float value) { return value; });
}

/// For a sub that has halves of its own as its scale and its minimum, which may be below zero.
template <size_t N, int Hi>
ScaleAndMinimum half_affine(const AffineSub<N, Hi>& sub) {
  return best_affine(sub, true, nearest_half);
}

/// The scales and minima of a block: sub j has d * scale[j] and dmin * minimum[j].
template <size_t Subs>
struct AffineScales {
  float d = 0, dmin = 0;  ///< halves
  std::array<uint8_t, Subs> scale{}, minimum{};

  ScaleAndMinimum of(size_t j) const {
    return {d * static_cast<float>(scale[j]), dmin * static_cast<float>(minimum[j])};
  }
};

/// Finds scales and minima of the form d * 0..Most, dmin * 0..Most.
template <class Sub, size_t Subs, int Most>
class AffineSearch {
 public:
  explicit AffineSearch(const std::array<Sub, Subs>& subs) : subs_(subs) {
    for (size_t j = 0; j < Subs; ++j) ideal_[j] = ideal_affine(subs[j]);
  }

  AffineScales<Subs> run() {
    ScaleAndMinimum largest;
    for (const ScaleAndMinimum& s : ideal_)
      largest = {std::max(largest.scale, s.scale), std::max(largest.minimum, s.minimum)};
    for (const Sub& sub : subs_) error_ += sub.at({}).error;
    for (const float scale_part : {1.0F, 0.96F, 0.9F}) {
      for (const float minimum_part : {1.0F, 0.96F, 0.9F}) {
        if (!attempt(largest.scale * scale_part / Most, largest.minimum * minimum_part / Most)) continue;
        for (int round = 0; round < 3 && refine(); ++round) {
        }
      }
    }
    return best_;
  }

 private:
  static float within(float wanted) { return nearest_code(wanted, 0, Most); }

  /// Keeps the sums of the block's best codes, from which refine() takes d and dmin.
  struct Totals {
    float ss = 0, sm = 0, mm = 0, xs = 0, xm = 0;
    void add(float scale, float minimum, const AffineFit& fit) {
      ss += scale * scale * fit.wqq;
      sm += scale * minimum * fit.wq;
      mm += minimum * minimum * fit.w;
      xs += scale * fit.wxq;
      xm += minimum * fit.wx;
    }
  };

  bool attempt(float wanted_d, float wanted_dmin) {
    AffineScales<Subs> scales;
    scales.d = nearest_half(wanted_d);
    scales.dmin = nearest_half(wanted_dmin);
    Totals totals;
    float error = 0;
    for (size_t j = 0; j < Subs; ++j) {
      const float s0 = scales.d > 0 ? within(ideal_[j].scale / scales.d) : 0;
      const float m0 = scales.dmin > 0 ? within(ideal_[j].minimum / scales.dmin) : 0;
      AffineFit found;
      for (float s = std::max(s0 - 1, 0.0F); s <= std::min(s0 + 1, static_cast<float>(Most)); ++s) {
        for (float m = std::max(m0 - 1, 0.0F); m <= std::min(m0 + 1, static_cast<float>(Most)); ++m) {
          const AffineFit fit = subs_[j].at({scales.d * s, scales.dmin * m});
          if (!(fit.error < found.error)) continue;
          found = fit;
          scales.scale[j] = static_cast<uint8_t>(s);
          scales.minimum[j] = static_cast<uint8_t>(m);
        }
      }
      error += found.error;
      totals.add(scales.scale[j], scales.minimum[j], found);
    }
    if (!(error < error_)) return false;
    error_ = error;
    totals_ = totals;
    best_ = scales;
    return true;
  }

  /// d and dmin that are best for the codes, scales and minima found.
  bool refine() {
    const double determinant = double{totals_.ss} * totals_.mm - double{totals_.sm} * totals_.sm;
    if (!(determinant > 1e-6 * double{totals_.ss} * totals_.mm))
      return totals_.ss > 0 && attempt((totals_.xs + totals_.sm * best_.dmin) / totals_.ss, best_.dmin);
    const double d = (double{totals_.mm} * totals_.xs - double{totals_.sm} * totals_.xm) / determinant;
    const double dmin = (double{totals_.sm} * totals_.xs - double{totals_.ss} * totals_.xm) / determinant;
    return d > 0 && dmin >= 0 && attempt(static_cast<float>(d), static_cast<float>(dmin));
  }

  const std::array<Sub, Subs>& subs_;
  std::array<ScaleAndMinimum, Subs> ideal_{};
  AffineScales<Subs> best_;
  Totals totals_;
  float error_ = 0;
};

template <int Most, class Sub, size_t Subs>
AffineScales<Subs> choose_affine(const std::array<Sub, Subs>& subs) {
  return AffineSearch<Sub, Subs, Most>(subs).run();
}

}  // namespace terrace::format
