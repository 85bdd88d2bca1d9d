// Attention of a tile of queries that share a key/value head, over pages of 64 positions.
//
// Each page gives an independent partial (maximum, sum, weighted values), merged in page order, so a query's result
// does not depend on the rows it is computed with, nor on who computes which pages. Hidden positions weigh exactly 0;
// pages without a visible position are skipped.
#pragma once

#include "compute/cpu/kernels/rows.inl.h"

namespace {

using terrace::compute::AttentionPart;
using terrace::compute::AttentionTask;
using terrace::compute::kAttentionBlock;
using terrace::compute::kMaximumHeadSize;
using terrace::compute::kPartialHead;
using terrace::compute::kQueryTask;

constexpr size_t kQueryTile = 6;  // rows in registers
// One factor per query, in whole registers.
constexpr size_t kFactors = (kQueryTask + Simd::lanes - 1) / Simd::lanes * Simd::lanes;

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

/// How many of a page's positions some query can see.
inline size_t visible_depth(const AttentionTask& task, const size_t* queries, size_t count, int32_t block) {
  int32_t depth = 0;
  for (size_t i = 0; i < count; ++i) {
    const int32_t visible = task.last[queries[i]] - 64 * block + 1;
    depth = visible > depth ? visible : depth;
  }
  return static_cast<size_t>(depth > 64 ? 64 : depth);
}

/// The partials of some of the task's queries, which all see something of the page.
template <class Element>
void attend_tile(const AttentionTask& task, int32_t block, const size_t* queries, size_t count, const Element* keys,
                 const Element* values, float* partials) {
  alignas(64) float scores[kQueryTile][kAttentionBlock];
  const float *query_rows[kQueryTile] = {}, *weights[kQueryTile] = {};
  float *score_rows[kQueryTile] = {}, *value_rows[kQueryTile] = {};
  for (size_t i = 0; i < count; ++i) {
    query_rows[i] = task.queries[queries[i]];
    weights[i] = score_rows[i] = scores[i];
    value_rows[i] = partials + queries[i] * partial_floats(task) + kPartialHead;
  }
  const size_t depth = visible_depth(task, queries, count, block);
  // Only the registers of keys that some query can see; the scores beyond stay hidden by softmax_partial.
  const size_t width = (depth + 15) / 16 * 16;
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = width; j < kAttentionBlock; ++j) scores[i][j] = 0.0F;
  }
  multiply_rows(query_rows, count, task.key_size, keys, kAttentionBlock, width, score_rows);
  for (size_t i = 0; i < count; ++i) {
    const size_t q = queries[i];
    const Partial partial =
        softmax_partial(scores[i], task.scale, task.first[q] - 64 * block, task.last[q] - 64 * block);
    float* const head = partials + q * partial_floats(task);
    head[0] = partial.maximum;
    head[1] = partial.sum;
    head[2] = 1.0F;
  }
  multiply_rows(weights, count, depth, values, task.value_stride, task.value_stride, value_rows);
}

/// The tiles of a page, as equal as possible: many rows share what is loaded.
template <class Element>
void attend_tiles(const AttentionTask& task, int32_t block, const size_t* queries, size_t count, const Element* keys,
                  const Element* values, float* partials) {
  const size_t tiles = (count + kQueryTile - 1) / kQueryTile;
  for (size_t t = 0; t < tiles; ++t) {
    const size_t first = count * t / tiles, last = count * (t + 1) / tiles;
    attend_tile(task, block, queries + first, last - first, keys, values, partials);
  }
}

/// A page's partials, one record per query of the task.
template <class Element>
void attend_page(const AttentionTask& task, int32_t block, float* partials) {
  size_t queries[kQueryTask], count = 0;
  for (size_t q = 0; q < task.count; ++q) {
    partials[q * partial_floats(task) + 2] = 0.0F;
    if (task.first[q] <= 64 * block + 63 && task.last[q] >= 64 * block) queries[count++] = q;
  }
  if (count == 0) return;
  const auto* keys = reinterpret_cast<const Element*>(task.pages[block] + task.key_offset);
  const auto* values = reinterpret_cast<const Element*>(task.pages[block] + task.value_offset);
  attend_tiles<Element>(task, block, queries, count, keys, values, partials);
}

/// What the pages so far have given for each query.
struct AttentionState {
  float *maxima, *sums, *totals;
  AttentionState(const AttentionTask& task, float* memory)
      : maxima(memory), sums(memory + task.count), totals(memory + 2 * task.count) {}
};

void begin_attention(const AttentionTask& task, const AttentionState& state) {
  for (size_t q = 0; q < task.count; ++q) {
    state.maxima[q] = -__builtin_inff();
    state.sums[q] = 0.0F;
  }
  for (size_t i = 0; i < task.count * task.value_stride; ++i) state.totals[i] = 0.0F;
}

void merge_page(const AttentionTask& task, const float* partials, const AttentionState& state) {
  alignas(64) float old_factors[kFactors] = {}, new_factors[kFactors] = {};
  for (size_t q = 0; q < task.count; ++q) {
    const float* const partial = partials + q * partial_floats(task);
    if (partial[2] == 0.0F) continue;
    const float maximum = state.maxima[q] > partial[0] ? state.maxima[q] : partial[0];
    old_factors[q] = state.maxima[q] - maximum;
    new_factors[q] = partial[0] - maximum;
    state.maxima[q] = maximum;
  }
  for (size_t q = 0; q < task.count; q += Simd::lanes) {
    Simd::store(old_factors + q, exponential(Simd::load(old_factors + q)));
    Simd::store(new_factors + q, exponential(Simd::load(new_factors + q)));
  }
  for (size_t q = 0; q < task.count; ++q) {
    const float* const partial = partials + q * partial_floats(task);
    if (partial[2] == 0.0F) continue;
    state.sums[q] = __builtin_fmaf(state.sums[q], old_factors[q], partial[1] * new_factors[q]);
    blend(state.totals + q * task.value_stride, partial + kPartialHead, task.value_stride, old_factors[q],
          new_factors[q]);
  }
}

void end_attention(const AttentionTask& task, const AttentionState& state) {
  for (size_t q = 0; q < task.count; ++q) {
    float factor = 1.0F, sum = state.sums[q];
    if (task.sinks) {
      const float maximum = state.maxima[q] > task.sinks[q] ? state.maxima[q] : task.sinks[q];
      factor = exponential1(state.maxima[q] - maximum);
      sum = __builtin_fmaf(sum, factor, exponential1(task.sinks[q] - maximum));
    }
    const float inverse = factor / sum;
    const float* const total = state.totals + q * task.value_stride;
    for (size_t i = 0; i < task.value_size; ++i) task.outputs[q][i] = total[i] * inverse;
    if (task.gates) gate_by_sigmoid(task.gates[q], task.value_size, task.outputs[q]);
  }
}

template <class Element>
void attention(const AttentionTask& task) {
  alignas(64) float partials[kQueryTask * (kPartialHead + kMaximumHeadSize)];
  alignas(64) float memory[kQueryTask * (2 + kMaximumHeadSize)];
  const AttentionState state(task, memory);
  begin_attention(task, state);
  const AttentionPart all = visible_pages(task);
  for (int32_t block = all.first; block <= all.last; ++block) {
    attend_page<Element>(task, block, partials);
    merge_page(task, partials, state);
  }
  end_attention(task, state);
}

/// The partials of a run of pages, for merge_attention.
template <class Element>
void attention_part(const AttentionTask& task, const AttentionPart& part, float* partials) {
  for (int32_t block = part.first; block <= part.last; ++block, partials += task.count * partial_floats(task))
    attend_page<Element>(task, block, partials);
}

void merge_attention(const AttentionTask& task, const AttentionPart& part, const float* partials, float* memory) {
  const AttentionState state(task, memory);
  const AttentionPart all = visible_pages(task);
  if (part.first == all.first) begin_attention(task, state);
  for (int32_t block = part.first; block <= part.last; ++block, partials += task.count * partial_floats(task))
    merge_page(task, partials, state);
  if (part.last == all.last) end_attention(task, state);
}

}  // namespace
