// Products of a panel with many rows of activations: what is unpacked serves all of them.
#pragma once

#include "compute/cpu/kernels/sub_block.inl.h"

namespace {

constexpr size_t kUnpacked = 8;  // sub-blocks unpacked at a time

/// What the readers of some panel blocks say of `count` sub-blocks.
template <class Reader, class Unpacked>
void unpack(const std::byte* block, size_t group, size_t count, Unpacked* out) {
  for (size_t b = 0; b < count; b += Reader::kSubBlocks, block += Reader::kBytes) {
    const Reader reader(block, group);
    for (size_t outer = 0; outer < Reader::kSubBlocks / Reader::kUnrolled; ++outer) {
#pragma GCC unroll 8
      for (size_t inner = 0; inner < Reader::kUnrolled; ++inner) *out++ = Unpacked(reader, outer, inner);
    }
  }
}

/// Adds their products with kColumns rows.
template <class Unpacked>
void add_unpacked(const Unpacked* weights, size_t count, const ActivationBlock* x, size_t x_stride, float* out) {
  Simd::F acc[kColumns];
#pragma GCC unroll 16
  for (size_t c = 0; c < kColumns; ++c) acc[c] = Simd::load(out + 16 * c);
  for (size_t sub = 0; sub < count; ++sub) {
    const Unpacked& now = weights[sub];
#pragma GCC unroll 16
    for (size_t c = 0; c < kColumns; ++c) {
      const ActivationBlock& row = x[c * x_stride + sub];
      acc[c] = accumulate(now, row, scaled_dot(now, row), acc[c]);
    }
  }
#pragma GCC unroll 16
  for (size_t c = 0; c < kColumns; ++c) Simd::store(out + 16 * c, acc[c]);
}

/// Many rows, a multiple of kColumns: 256 inputs of a lane group are unpacked once for all of them.
template <class Reader>
void dot_many_columns(const std::byte* panel, size_t blocks, const ActivationBlock* x, size_t x_stride, size_t columns,
                      float* out) {
  static_assert(kUnpacked % Reader::kSubBlocks == 0);
  using Unpacked = SubBlock<Reader, moves_signs<Reader, kColumns>>;
  for (size_t i = 0; i < 16 * columns; ++i) out[i] = 0.0F;
  for (size_t first = 0; first < blocks; first += kUnpacked) {
    const size_t count = blocks - first < kUnpacked ? blocks - first : kUnpacked;
    for (size_t group = 0; group < kLaneGroups; ++group) {
      Unpacked weights[kUnpacked];
      unpack<Reader>(panel, group, count, weights);
      for (size_t c = 0; c < columns; c += kColumns)
        add_unpacked(weights, count, x + c * x_stride + first, x_stride, out + 16 * c + group * Simd::lanes);
    }
    panel += kUnpacked / Reader::kSubBlocks * Reader::kBytes;
  }
}

}  // namespace
