// Rotary position embeddings of rows in memory.
#pragma once

#include "compute/operations.h"
#include "compute/rope.h"

namespace terrace::compute {

/// Cosine and sine of each pair of a rope at a position.
inline void make_turns(const Rope& rope, size_t position, float* turns) {
  for (const float frequency : rope.frequencies) {
    const CosSin angle = cos_sin(static_cast<double>(position) * double{frequency});
    *turns++ = static_cast<float>(angle.cos) * rope.magnitude;
    *turns++ = static_cast<float>(angle.sin) * rope.magnitude;
  }
}

/// Turns the rotated pairs of each head of a row, `stride` apart. `turns` is as make_turns() makes it.
inline void rotate(float* row, size_t heads, size_t stride, RopePairs pairs, std::span<const float> turns) {
  const size_t count = turns.size() / 2;
  const size_t step = pairs == RopePairs::adjacent ? 2 : 1, distance = pairs == RopePairs::adjacent ? 1 : count;
  for (size_t head = 0; head < heads; ++head, row += stride) {
    for (size_t i = 0; i < count; ++i) {
      const float cos = turns[2 * i], sin = turns[2 * i + 1];
      float &a = row[step * i], &b = row[step * i + distance];
      const float turned = a * cos - b * sin;
      b = a * sin + b * cos;
      a = turned;
    }
  }
}

}  // namespace terrace::compute
