// What the products share: tiles of outputs and growing scratch memory.
#pragma once

#include <algorithm>
#include <cstring>

#include "base/buffer.h"
#include "compute/cpu/kernels/kernels.h"

namespace terrace::compute {

constexpr size_t kTile = 32;  ///< rows per pass over a panel

inline std::byte* grown(Buffer& buffer, size_t bytes) {
  if (buffer.size() < bytes) buffer = Buffer(std::max(bytes, 2 * buffer.size()), Purpose::activations);
  return buffer.data();
}

inline void add_to(float* values, const float* more, size_t count) {
  for (size_t i = 0; i < count; ++i) values[i] += more[i];
}

/// A tile's row to its place in the output; whole panels are the common case.
inline void put_tile_row(const float* tile, size_t width, bool accumulate, float* out) {
  if (accumulate)
    add_to(out, tile, width);
  else if (width == kPanel)
    std::memcpy(out, tile, kPanel * sizeof(float));
  else
    std::memcpy(out, tile, width * sizeof(float));
}

}  // namespace terrace::compute
