// Attention of a tile of queries that share a key/value head, over pages of 64 positions.
//
// Each page gives an independent partial (maximum, sum, weighted values), merged in page order, so a query's result
// does not depend on the rows it is computed with. Hidden positions weigh exactly 0; pages without a visible position
// are skipped.
#pragma once

#include "compute/cpu/kernels/rows.inl.h"

namespace {

using terrace::compute::AttentionTask;
using terrace::compute::kAttentionBlock;
using terrace::compute::kMaximumHeadSize;
using terrace::compute::kQueryTile;

/// multiply() for a run-time number of rows and any width that is a multiple of 16.
template <class Element>
void multiply_rows(const float* const* a, size_t rows, size_t depth, const Element* b, size_t b_stride, size_t width,
                   float* const* out) {
  constexpr size_t wide = Simd::registers == 32 ? 4 : 2;  // registers of columns at a time
  float* here[kQueryTile];
  for (size_t j = 0; j < width;) {
    for (size_t r = 0; r < rows; ++r) here[r] = out[r] + j;
    const bool narrow = width - j < wide * Simd::lanes;
    const auto call = [&]<size_t Rows>() {
      if constexpr (wide * Simd::lanes > 16) {
        if (narrow) return multiply<Rows, kLaneGroups>(a, depth, b + j, b_stride, here);
      }
      multiply<Rows, wide>(a, depth, b + j, b_stride, here);
    };
    switch (rows) {
      case 1:
        call.template operator()<1>();
        break;
      case 2:
        call.template operator()<2>();
        break;
      case 3:
        call.template operator()<3>();
        break;
      case 4:
        call.template operator()<4>();
        break;
      case 5:
        call.template operator()<5>();
        break;
      default:
        call.template operator()<6>();
        break;
    }
    j += narrow ? 16 : wide * Simd::lanes;
  }
}

struct Partial {
  float maximum, sum;
};

/// Turns 64 scores into weights exp(score * scale - maximum); positions outside of [first, last] get exactly 0.
Partial softmax_partial(float* scores, float scale, int32_t first, int32_t last) {
  Simd::F v[4][kLaneGroups], largest[kLaneGroups];
  float offsets[16];
  for (int i = 0; i < 16; ++i) offsets[i] = static_cast<float>(i);
  const Simd::F hidden = Simd::set1(-__builtin_inff());
  const Simd::F lower = Simd::set1(static_cast<float>(first)), upper = Simd::set1(static_cast<float>(last) + 0.5F);
  for (size_t g = 0; g < kLaneGroups; ++g) largest[g] = hidden;
  for (size_t i = 0; i < 4; ++i) {
    for (size_t g = 0; g < kLaneGroups; ++g) {
      const Simd::F position = Simd::add(Simd::load(offsets + g * Simd::lanes), Simd::set1(static_cast<float>(16 * i)));
      const Simd::F score = Simd::mul(Simd::load(scores + 16 * i + g * Simd::lanes), Simd::set1(scale));
      v[i][g] = Simd::select_less(position, lower, hidden, Simd::select_less(upper, position, hidden, score));
      largest[g] = Simd::max(largest[g], v[i][g]);
    }
  }
  const float maximum = Simd::max16(largest);
  Simd::F sum[kLaneGroups];
  for (size_t g = 0; g < kLaneGroups; ++g) {
    for (size_t i = 0; i < 4; ++i) {
      v[i][g] = exponential(Simd::sub(v[i][g], Simd::set1(maximum)));
      Simd::store(scores + 16 * i + g * Simd::lanes, v[i][g]);
    }
    sum[g] = Simd::add(Simd::add(v[0][g], v[1][g]), Simd::add(v[2][g], v[3][g]));
  }
  return {maximum, Simd::sum16(sum)};
}

inline float exponential1(float x) { return Simd::first(exponential(Simd::set1(x))); }

/// total = total * a + part * b over a row of values
inline void blend(float* total, const float* part, size_t size, float a, float b) {
  for (size_t i = 0; i < size; i += Simd::lanes) {
    const Simd::F scaled = Simd::mul(Simd::load(part + i), Simd::set1(b));
    Simd::store(total + i, Simd::fma(Simd::load(total + i), Simd::set1(a), scaled));
  }
}

template <class Element>
void attention(const AttentionTask& task) {
  alignas(64) float scores[kQueryTile][kAttentionBlock];
  alignas(64) float values[kQueryTile][kMaximumHeadSize];
  alignas(64) float totals[kQueryTile][kMaximumHeadSize];
  float maxima[kQueryTile], sums[kQueryTile];
  int32_t first_block = INT32_MAX, last_block = -1;
  for (size_t q = 0; q < task.count; ++q) {
    maxima[q] = -__builtin_inff();
    sums[q] = 0.0F;
    for (size_t i = 0; i < task.value_stride; ++i) totals[q][i] = 0.0F;
    first_block = task.first[q] / 64 < first_block ? task.first[q] / 64 : first_block;
    last_block = task.last[q] / 64 > last_block ? task.last[q] / 64 : last_block;
  }
  for (int32_t block = first_block; block <= last_block; ++block) {
    size_t active[kQueryTile], count = 0;
    const float *queries[kQueryTile], *weights[kQueryTile];
    float *score_rows[kQueryTile], *value_rows[kQueryTile];
    int32_t depth = 0;
    for (size_t q = 0; q < task.count; ++q) {
      if (task.first[q] > 64 * block + 63 || task.last[q] < 64 * block) continue;
      queries[count] = task.queries[q];
      weights[count] = score_rows[count] = scores[count];
      value_rows[count] = values[count];
      const int32_t visible = task.last[q] - 64 * block + 1;
      depth = visible > depth ? visible : depth;
      active[count++] = q;
    }
    if (count == 0) continue;
    depth = depth > 64 ? 64 : depth;
    // Only the registers of keys that some query can see; the scores beyond stay hidden by softmax_partial.
    const size_t width = (static_cast<size_t>(depth) + 15) / 16 * 16;
    for (size_t i = 0; i < count; ++i) {
      for (size_t j = width; j < kAttentionBlock; ++j) scores[i][j] = 0.0F;
    }
    multiply_rows(queries, count, task.key_size, reinterpret_cast<const Element*>(task.pages[block] + task.key_offset),
                  kAttentionBlock, width, score_rows);
    Partial partials[kQueryTile];
    for (size_t i = 0; i < count; ++i) {
      partials[i] =
          softmax_partial(scores[i], task.scale, task.first[active[i]] - 64 * block, task.last[active[i]] - 64 * block);
    }
    multiply_rows(weights, count, static_cast<size_t>(depth),
                  reinterpret_cast<const Element*>(task.pages[block] + task.value_offset), task.value_stride,
                  task.value_stride, value_rows);
    for (size_t i = 0; i < count; ++i) {
      const size_t q = active[i];
      const float maximum = maxima[q] > partials[i].maximum ? maxima[q] : partials[i].maximum;
      const float old_factor = exponential1(maxima[q] - maximum),
                  new_factor = exponential1(partials[i].maximum - maximum);
      sums[q] = __builtin_fmaf(sums[q], old_factor, partials[i].sum * new_factor);
      blend(totals[q], values[i], task.value_stride, old_factor, new_factor);
      maxima[q] = maximum;
    }
  }
  for (size_t q = 0; q < task.count; ++q) {
    float factor = 1.0F;
    if (task.sinks) {
      const float maximum = maxima[q] > task.sinks[q] ? maxima[q] : task.sinks[q];
      factor = exponential1(maxima[q] - maximum);
      sums[q] = __builtin_fmaf(sums[q], factor, exponential1(task.sinks[q] - maximum));
    }
    const float inverse = factor / sums[q];
    for (size_t i = 0; i < task.value_size; ++i) task.outputs[q][i] = totals[q][i] * inverse;
    if (task.gates) gate_by_sigmoid(task.gates[q], task.value_size, task.outputs[q]);
  }
}

}  // namespace
