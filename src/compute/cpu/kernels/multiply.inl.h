// Products of float matrices, written over the SIMD type: what panels of float types and attention have in common.
#pragma once

#include "compute/cpu/kernels/kernels.h"

namespace {

using terrace::compute::ActivationBlock;

constexpr size_t kLaneGroups = 16 / Simd::lanes;

inline Simd::F load_weights(const float* p) { return Simd::load(p); }
struct Half {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};
inline Simd::F load_weights(const Half* p) { return Simd::load_half(&p->bits); }
inline Simd::F load_weights(const Bf16* p) { return Simd::load_bf16(&p->bits); }

/// out[r][j] = sum over k < depth, in order, of a[r][k] * b[k * b_stride + j] for `Vectors` registers of j. The heart
/// of the float products: panels of float types, attention scores (b: keys) and attention values (b: values).
template <size_t Rows, size_t Vectors, class Element>
[[gnu::always_inline]] inline void multiply(const float* const* a, size_t depth, const Element* b, size_t b_stride,
                                            float* const* out) {
  Simd::F acc[Rows][Vectors];
#pragma GCC unroll 8
  for (size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (size_t v = 0; v < Vectors; ++v) acc[r][v] = Simd::set1(0.0F);
  }
  for (size_t k = 0; k < depth; ++k) {
    Simd::F weights[Vectors];
#pragma GCC unroll 8
    for (size_t v = 0; v < Vectors; ++v) weights[v] = load_weights(b + k * b_stride + v * Simd::lanes);
#pragma GCC unroll 8
    for (size_t r = 0; r < Rows; ++r) {
      const Simd::F x = Simd::set1(a[r][k]);
#pragma GCC unroll 8
      for (size_t v = 0; v < Vectors; ++v) acc[r][v] = Simd::fma(weights[v], x, acc[r][v]);
    }
  }
#pragma GCC unroll 8
  for (size_t r = 0; r < Rows; ++r) {
#pragma GCC unroll 8
    for (size_t v = 0; v < Vectors; ++v) Simd::store(out[r] + v * Simd::lanes, acc[r][v]);
  }
}

}  // namespace
