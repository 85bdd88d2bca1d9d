// A sub-block of 32 inputs: what a reader says of it, and its product with a row of activations.
//
// The order of float operations per (output, row) pair is the contract. For each block of 32 inputs in order:
//   acc = fma(weight scale * activation scale, float(exact integer dot product), acc)
//   acc = fma(minimum, activation scale * sum of codes, acc)        (formats with minima)
// Formats with a scale per 16 inputs put fma(float(dot of the second half), its scale, float(dot of the first) * its
// scale) in the place of the integer, which is exact below 2^24 where the scales are integers. With minima per 16
// inputs, too (Q2_K):
//   acc = fma(second minimum, activation scale * sum of all codes, acc)
//   acc = fma(first minimum - second minimum, activation scale * sum of the first half's codes, acc)
#pragma once

#include "compute/cpu/kernels/blocks/reader.inl.h"
#include "compute/cpu/kernels/kernels.h"

namespace {

constexpr size_t kColumns = Simd::registers == 32   ? 8
                            : Simd::registers == 16 ? 4
                                                    : 1;  // rows of activations held in registers at a time

/// Whether the activations take the signs of the weights.
template <class Reader, size_t Columns>
constexpr bool moves_signs = Columns <= Simd::negated_rows && is_signed<Reader>;

/// Where a sum over 32 inputs begins, so that it ends at the sum of (code - zero point) * activation code.
template <class Reader>
Simd::I start_of(const ActivationBlock& x) {
  static_assert(Reader::kZero == 0 || Reader::kZero == 1 || Reader::kZero == 8 || Reader::kZero == 16 ||
                Reader::kZero == 32 || Reader::kZero == 64);
  if constexpr (Reader::kZero == 0) return Simd::iset1(0);
  if constexpr (Reader::kZero == 1) return Simd::iset1(x.minus_8_sums >> 3);
  if constexpr (Reader::kZero == 8) return Simd::iset1(x.minus_8_sums);
  const Simd::I minus_16 = Simd::iset1(x.minus_16_sums);
  if constexpr (Reader::kZero == 32) return Simd::left<1>(minus_16);
  if constexpr (Reader::kZero == 64) return Simd::left<2>(minus_16);
  return minus_16;
}

/// The same for a half of 16 inputs.
template <class Reader>
Simd::I half_start_of(const ActivationBlock& x, size_t half) {
  static_assert(Reader::kZero == 0 || Reader::kZero == 32 || Reader::kZero == 64);
  if constexpr (Reader::kZero == 0) return Simd::iset1(0);
  const Simd::I minus_32 = Simd::iset1(x.minus_32_sums[half]);
  return Reader::kZero == 64 ? Simd::left<1>(minus_32) : minus_32;
}

/// What a reader says of 32 inputs, read once for all rows of activations.
template <class Reader, bool MovesSigns>
struct SubBlock {
  Simd::I codes[8], signs, multipliers[2];
  Simd::F scale, half_scales[2], minimum, first_excess;

  SubBlock() = default;
  [[gnu::always_inline]] SubBlock(const Reader& reader, size_t outer, size_t inner) {
    if constexpr (MovesSigns) {
      reader.magnitudes(outer, inner, codes);
      signs = reader.signs(outer, inner);
    } else {
      codes_of(reader, outer, inner, codes);
    }
    scale = reader.scale(outer, inner);
    if constexpr (has_multipliers<Reader>) {
      multipliers[0] = reader.multiplier(outer, inner, 0);
      multipliers[1] = reader.multiplier(outer, inner, 1);
    } else if constexpr (Reader::kHalves) {
      half_scales[0] = reader.half_scale(outer, inner, 0);
      half_scales[1] = reader.half_scale(outer, inner, 1);
    }
    if constexpr (Reader::kHalves && Reader::kMinimum) {
      minimum = reader.half_minimum(outer, inner, 1);
      first_excess = reader.first_excess(outer, inner);
    } else if constexpr (Reader::kMinimum) {
      minimum = reader.minimum(outer, inner);
    }
  }
};

/// The exact dot product of 16 inputs.
template <int Half, class Reader, bool MovesSigns>
[[gnu::always_inline]] inline Simd::I half_dot(const SubBlock<Reader, MovesSigns>& weights, const ActivationBlock& x) {
  if constexpr (MovesSigns)
    return Simd::dot_signed<Reader::kLargestMagnitude, 4 * Half, 4>(weights.codes, weights.signs, x.codes);
  else
    return Simd::dot<Reader::kLargest, 4>(weights.codes + 4 * Half, x.codes + 16 * Half,
                                          half_start_of<Reader>(x, Half));
}

/// That of 32.
template <class Reader, bool MovesSigns>
[[gnu::always_inline]] inline Simd::I full_dot(const SubBlock<Reader, MovesSigns>& weights, const ActivationBlock& x) {
  if constexpr (MovesSigns)
    return Simd::dot_signed<Reader::kLargestMagnitude, 0, 8>(weights.codes, weights.signs, x.codes);
  else if constexpr (Reader::kZero == 128)
    return Simd::dot_biased(weights.codes, x.codes, Simd::biased_start(&x.minus_128_sums));
  else
    return Simd::dot<Reader::kLargest, 8>(weights.codes, x.codes, start_of<Reader>(x));
}

template <class Reader, bool MovesSigns>
[[gnu::always_inline]] inline Simd::F sum_of_halves(const SubBlock<Reader, MovesSigns>& weights, Simd::I first,
                                                    Simd::I second) {
  const Simd::F scaled_first = Simd::mul(Simd::to_float(first), weights.half_scales[0]);
  return Simd::fma(Simd::to_float(second), weights.half_scales[1], scaled_first);
}

/// The dot product, or the scaled sum of those of the halves.
template <class Reader, bool MovesSigns>
[[gnu::always_inline]] inline Simd::F scaled_dot(const SubBlock<Reader, MovesSigns>& weights,
                                                 const ActivationBlock& x) {
  if constexpr (has_multipliers<Reader>)
    return Simd::to_float(Simd::dot_multiplied<Reader::kLargest>(weights.codes, x.codes, weights.multipliers));
  else if constexpr (Reader::kHalves)
    return sum_of_halves(weights, half_dot<0>(weights, x), half_dot<1>(weights, x));
  else
    return Simd::to_float(full_dot(weights, x));
}

/// acc with a sub-block's product, of which `dot` is scaled_dot().
template <class Reader, bool MovesSigns>
[[gnu::always_inline]] inline Simd::F accumulate(const SubBlock<Reader, MovesSigns>& weights, const ActivationBlock& x,
                                                 Simd::F dot, Simd::F acc) {
  acc = Simd::fma(Simd::mul(weights.scale, Simd::set1(x.scale)), dot, acc);
  if constexpr (Reader::kMinimum) acc = Simd::fma(weights.minimum, Simd::set1(x.scaled_sum), acc);
  if constexpr (Reader::kMinimum && Reader::kHalves)
    acc = Simd::fma(weights.first_excess, Simd::set1(x.scaled_first_sum), acc);
  return acc;
}

}  // namespace
