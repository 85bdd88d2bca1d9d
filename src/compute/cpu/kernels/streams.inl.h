// Kernels of hyper-connections and of block selection.
#pragma once

#include "compute/cpu/kernels/multiply.inl.h"
#include "compute/cpu/kernels/rows.inl.h"

namespace {

/// out = mean over the streams of mix * x, one fma per stream in order.
void mix_streams(const float* x, const float* mix, size_t streams, size_t size, float* out) {
  const Simd::F share = Simd::set1(1.0F / static_cast<float>(streams));
  for_each_16(size, [&](size_t i, size_t valid) {
    Simd::F sum[kLaneGroups], a[kLaneGroups], b[kLaneGroups];
    for (auto& s : sum) s = Simd::set1(0.0F);
    for (size_t stream = 0; stream < streams; ++stream) {
      load16(x + stream * size + i, valid, a);
      load16(mix + stream * size + i, valid, b);
      for (size_t g = 0; g < kLaneGroups; ++g) sum[g] = Simd::fma(a[g], b[g], sum[g]);
    }
    for (auto& s : sum) s = Simd::mul(s, share);
    store16(out + i, valid, sum);
  });
}

/// Products are summed in 16 lanes, which are then folded, as in rms_norm.
float dot(const float* x, const float* y, size_t size) {
  Simd::F sum[kLaneGroups];
  for (auto& s : sum) s = Simd::set1(0.0F);
  for_each_16(size, [&](size_t i, size_t valid) {
    Simd::F a[kLaneGroups], b[kLaneGroups];
    load16(x + i, valid, a);
    load16(y + i, valid, b);
    for (size_t g = 0; g < kLaneGroups; ++g) sum[g] = Simd::fma(a[g], b[g], sum[g]);
  });
  return Simd::sum16(sum);
}

/// scores[b] = sum over heads, in order, of max(0, query . key b), each product one fma per dimension in order.
void score_blocks(const float* queries, size_t heads, size_t size, const float* keys, size_t blocks, float* scores) {
  const Simd::F zero = Simd::set1(0.0F);
  for (size_t b = 0; b < blocks; b += Simd::lanes) {
    Simd::F sum = zero;
    for (size_t head = 0; head < heads; ++head) {
      Simd::F product = zero;
      for (size_t d = 0; d < size; ++d)
        product = Simd::fma(Simd::load(keys + d * blocks + b), Simd::set1(queries[head * size + d]), product);
      sum = Simd::add(sum, Simd::max(zero, product));
    }
    Simd::store(scores + b, sum);
  }
}

}  // namespace
