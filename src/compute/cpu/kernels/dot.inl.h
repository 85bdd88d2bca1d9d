// Products of a panel with rows of activations, written once over the SIMD type and a block reader; the order of their
// operations: sub_block.inl.h.
#pragma once

#include "compute/cpu/kernels/dot_many.inl.h"

namespace {

// Decode reads this many bytes ahead: the hardware's own prefetch begins anew with each page.
constexpr size_t kPrefetch = 4096;

/// Adds a panel block's products, for one lane group, to the accumulators of `Columns` rows.
template <class Reader, size_t Columns>
[[gnu::always_inline]] inline void add_block(const std::byte* block, size_t group, const ActivationBlock* x,
                                             size_t x_stride, Simd::F (&acc)[Columns]) {
  const Reader reader(block, group);
  for (size_t outer = 0; outer < Reader::kSubBlocks / Reader::kUnrolled; ++outer) {
#pragma GCC unroll 8
    for (size_t inner = 0; inner < Reader::kUnrolled; ++inner) {
      const size_t sub = outer * Reader::kUnrolled + inner;
      const SubBlock<Reader, moves_signs<Reader, Columns>> weights(reader, outer, inner);
#pragma GCC unroll 8
      for (size_t c = 0; c < Columns; ++c) {
        const ActivationBlock& row = x[c * x_stride + sub];
        acc[c] = accumulate(weights, row, scaled_dot(weights, row), acc[c]);
      }
    }
  }
}

/// A few rows.
template <class Reader, size_t Columns>
void dot_columns(const std::byte* panel, size_t blocks, const ActivationBlock* x, size_t x_stride, float* out) {
  for (size_t group = 0; group < kLaneGroups; ++group) {
    Simd::F acc[Columns];
    for (auto& a : acc) a = Simd::set1(0.0F);
    const std::byte* block = panel;
    for (size_t b = 0; b < blocks; b += Reader::kSubBlocks, block += Reader::kBytes)
      add_block<Reader, Columns>(block, group, x + b, x_stride, acc);
    for (size_t c = 0; c < Columns; ++c) Simd::store(out + 16 * c + group * Simd::lanes, acc[c]);
  }
}

/// One row: the panel is read once, front to back, the lane groups side by side, since each waits for its own sum. Asks
/// for memory ahead, a sub-block's share at a time: in bursts it would wait for itself.
template <class Reader>
void dot_column(const std::byte* panel, size_t blocks, const ActivationBlock* x, float* out) {
  static_assert(kLaneGroups <= 2);
  constexpr size_t bytes = Reader::kBytes / Reader::kSubBlocks;
  Simd::F acc[kLaneGroups];
  for (auto& a : acc) a = Simd::set1(0.0F);
  for (size_t b = 0; b < blocks; b += Reader::kSubBlocks, panel += Reader::kBytes, x += Reader::kSubBlocks) {
    const Reader readers[] = {Reader(panel, 0), Reader(panel, kLaneGroups - 1)};
    for (size_t outer = 0; outer < Reader::kSubBlocks / Reader::kUnrolled; ++outer) {
#pragma GCC unroll 8
      for (size_t inner = 0; inner < Reader::kUnrolled; ++inner) {
        const size_t sub = outer * Reader::kUnrolled + inner;
#pragma GCC unroll 16
        for (size_t line = 0; line < bytes; line += 64) __builtin_prefetch(panel + kPrefetch + sub * bytes + line);
#pragma GCC unroll 2
        for (size_t group = 0; group < kLaneGroups; ++group) {
          const SubBlock<Reader, moves_signs<Reader, 1>> weights(readers[group], outer, inner);
          acc[group] = accumulate(weights, x[sub], scaled_dot(weights, x[sub]), acc[group]);
        }
      }
    }
  }
  for (size_t group = 0; group < kLaneGroups; ++group) Simd::store(out + group * Simd::lanes, acc[group]);
}

template <class Reader>
void dot_codes(const std::byte* panel, size_t blocks, const ActivationBlock* x, size_t x_stride, size_t columns,
               float* out) {
  if (const size_t many = columns / kColumns * kColumns; columns > 1 && many > 0) {
    dot_many_columns<Reader>(panel, blocks, x, x_stride, many, out);
    x += many * x_stride;
    out += 16 * many;
    columns -= many;
  }
  if constexpr (kColumns > 4) {
    if (columns >= 4) {
      dot_columns<Reader, 4>(panel, blocks, x, x_stride, out);
      x += 4 * x_stride;
      out += 16 * 4;
      columns -= 4;
    }
  }
  if constexpr (kColumns > 1) {
    if (columns == 3) return dot_columns<Reader, 3>(panel, blocks, x, x_stride, out);
    if (columns == 2) return dot_columns<Reader, 2>(panel, blocks, x, x_stride, out);
  }
  if (columns == 1) dot_column<Reader>(panel, blocks, x, out);
}

/// The exact weights of one quad's input `T` (0..3), in float: what the file's block decodes to.
template <int T, class Reader>
Simd::F weight_of(const Reader& reader, size_t outer, size_t inner, size_t quad, Simd::I codes) {
  const Simd::I code = Simd::mask_words(Simd::right<8 * T>(codes), 255);
  const Simd::F value = Simd::sub(Simd::to_float(code), Simd::set1(static_cast<float>(Reader::kZero)));
  Simd::F scale = reader.scale(outer, inner);
  if constexpr (Reader::kHalves) scale = Simd::mul(scale, reader.half_scale(outer, inner, quad / 4));
  const Simd::F scaled = Simd::mul(scale, value);
  if constexpr (Reader::kHalves && Reader::kMinimum)
    return Simd::add(scaled, reader.half_minimum(outer, inner, quad / 4));
  else if constexpr (Reader::kMinimum)
    return Simd::add(scaled, reader.minimum(outer, inner));
  else
    return scaled;
}

/// Calls use(input, weights) for each input of a lane group in order.
template <class Reader, class Use>
void for_each_input(const std::byte* panel, size_t inputs, size_t group, Use use) {
  size_t input = 0;
  for (const std::byte* block = panel; input < inputs; block += Reader::kBytes) {
    const Reader reader(block, group);
    for (size_t outer = 0; outer < Reader::kSubBlocks / Reader::kUnrolled; ++outer) {
#pragma GCC unroll 8
      for (size_t inner = 0; inner < Reader::kUnrolled; ++inner) {
        Simd::I codes[8];
        codes_of(reader, outer, inner, codes);
        for (size_t quad = 0; quad < 8; ++quad, input += 4) {
          use(input, weight_of<0>(reader, outer, inner, quad, codes[quad]));
          use(input + 1, weight_of<1>(reader, outer, inner, quad, codes[quad]));
          use(input + 2, weight_of<2>(reader, outer, inner, quad, codes[quad]));
          use(input + 3, weight_of<3>(reader, outer, inner, quad, codes[quad]));
        }
      }
    }
  }
}

/// The reference profile: float activations with the decoded weights, one fma per input in order.
template <class Reader>
void dot_floats(const std::byte* panel, size_t inputs, const float* x, size_t x_stride, size_t columns, float* out) {
  for (; columns > 0; columns -= columns < 4 ? columns : 4, x += 4 * x_stride, out += 64) {
    const size_t count = columns < 4 ? columns : 4;
    for (size_t group = 0; group < kLaneGroups; ++group) {
      Simd::F acc[4];
      for (auto& a : acc) a = Simd::set1(0.0F);
      for_each_input<Reader>(panel, inputs, group, [&](size_t input, Simd::F weights) {
        for (size_t c = 0; c < count; ++c) acc[c] = Simd::fma(weights, Simd::set1(x[c * x_stride + input]), acc[c]);
      });
      for (size_t c = 0; c < count; ++c) Simd::store(out + 16 * c + group * Simd::lanes, acc[c]);
    }
  }
}

template <class Reader>
void decode_lane(const std::byte* panel, size_t inputs, size_t lane, float* out) {
  for_each_input<Reader>(panel, inputs, lane / Simd::lanes, [&](size_t input, Simd::F weights) {
    float values[Simd::lanes];
    Simd::store(values, weights);
    out[input] = values[lane % Simd::lanes];
  });
}

template <class Reader>
constexpr terrace::compute::BlockKernels block_kernels(uint32_t type) {
  return {type, dot_codes<Reader>, dot_floats<Reader>, decode_lane<Reader>};
}

}  // namespace
