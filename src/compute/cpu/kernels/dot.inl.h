// Products of a panel with rows of activations, written once over the SIMD type and a block reader.
//
// The order of float operations per (output, row) pair is the contract: for each block of 32 inputs in order,
//   acc = fma(weight scale * activation scale, float(exact integer dot product), acc)
//   acc = fma(minimum, activation scale * sum of codes, acc)        (formats with minima)
// Formats with a scale per 16 inputs put fma(float(dot of the second half), its scale, float(dot of the first) * its
// scale), which is exact below 2^24, in the place of the integer.
#pragma once

#include "compute/cpu/kernels/blocks/reader.inl.h"
#include "compute/cpu/kernels/kernels.h"

namespace {

// Decode reads this many bytes ahead: the hardware's own prefetch begins anew with each page.
constexpr size_t kPrefetch = 2048;
constexpr size_t kColumns = Simd::registers == 32   ? 8
                            : Simd::registers == 16 ? 4
                                                    : 1;  // rows of activations held in registers at a time

template <Codes Kind>
Simd::I start_of(const ActivationBlock& x) {
  if constexpr (Kind == Codes::zero_8) return Simd::iset1(x.minus_8_sums);
  if constexpr (Kind == Codes::zero_16) return Simd::iset1(x.minus_16_sums);
  if constexpr (Kind == Codes::biased_128) return Simd::biased_start(&x.minus_128_sums);
  return Simd::iset1(0);
}

template <class Reader>
[[gnu::always_inline]] inline Simd::F accumulate(const Reader& reader, size_t sub, const Simd::I (&codes)[8],
                                                 const ActivationBlock& x, Simd::F acc) {
  const Simd::F scale = Simd::mul(reader.scale(sub), Simd::set1(x.scale));
  if constexpr (Reader::kHalves) {
    const Simd::I first = Simd::dot<Reader::kBits, 4>(codes, x.codes, Simd::iset1(x.minus_32_sums[0]));
    const Simd::I second = Simd::dot<Reader::kBits, 4>(codes + 4, x.codes + 16, Simd::iset1(x.minus_32_sums[1]));
    const Simd::F scaled_first = Simd::mul(Simd::to_float(first), reader.half_scale(sub, 0));
    return Simd::fma(scale, Simd::fma(Simd::to_float(second), reader.half_scale(sub, 1), scaled_first), acc);
  } else {
    Simd::I dot;
    if constexpr (Reader::kCodes == Codes::biased_128)
      dot = Simd::dot_biased(codes, x.codes, start_of<Reader::kCodes>(x));
    else
      dot = Simd::dot<Reader::kBits, 8>(codes, x.codes, start_of<Reader::kCodes>(x));
    acc = Simd::fma(scale, Simd::to_float(dot), acc);
    if constexpr (Reader::kMinimum) acc = Simd::fma(reader.minimum(sub), Simd::set1(x.scaled_sum), acc);
    return acc;
  }
}

template <class Reader, size_t Columns>
void dot_columns(const std::byte* panel, size_t blocks, const ActivationBlock* x, size_t x_stride, float* out) {
  for (size_t group = 0; group < kLaneGroups; ++group) {
    Simd::F acc[Columns];
    for (auto& a : acc) a = Simd::set1(0.0F);
    const std::byte* block = panel;
    for (size_t b = 0; b < blocks; b += Reader::kSubBlocks, block += Reader::kBytes) {
      if constexpr (Columns == 1) {
        for (size_t line = 0; line < Reader::kBytes; line += 64) __builtin_prefetch(block + kPrefetch + line);
      }
      const Reader reader(block, group);
      for (size_t outer = 0; outer < Reader::kSubBlocks / Reader::kUnrolled; ++outer) {
#pragma GCC unroll 4
        for (size_t inner = 0; inner < Reader::kUnrolled; ++inner) {
          Simd::I codes[8];
          const size_t sub = outer * Reader::kUnrolled + inner;
          reader.codes(outer, inner, codes);
#pragma GCC unroll 8
          for (size_t c = 0; c < Columns; ++c)
            acc[c] = accumulate(reader, sub, codes, x[c * x_stride + b + sub], acc[c]);
        }
      }
    }
    for (size_t c = 0; c < Columns; ++c) Simd::store(out + 16 * c + group * Simd::lanes, acc[c]);
  }
}

template <class Reader>
void dot_codes(const std::byte* panel, size_t blocks, const ActivationBlock* x, size_t x_stride, size_t columns,
               float* out) {
  while (columns >= kColumns) {
    dot_columns<Reader, kColumns>(panel, blocks, x, x_stride, out);
    x += kColumns * x_stride;
    out += 16 * kColumns;
    columns -= kColumns;
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
  if (columns == 1) return dot_columns<Reader, 1>(panel, blocks, x, x_stride, out);
}

/// The exact weights of one quad's input `t` (0..3), in float: what the file's block decodes to.
template <class Reader, int T>
Simd::F weight_of(const Reader& reader, size_t sub, size_t quad, Simd::I codes) {
  constexpr float zeros[] = {0.0F, 8.0F, 16.0F, 32.0F, 128.0F};
  const Simd::I code = Simd::mask_words(Simd::right<8 * T>(codes), 255);
  const Simd::F value = Simd::sub(Simd::to_float(code), Simd::set1(zeros[static_cast<int>(Reader::kCodes)]));
  if constexpr (Reader::kHalves)
    return Simd::mul(Simd::mul(reader.scale(sub), reader.half_scale(sub, quad / 4)), value);
  if constexpr (Reader::kMinimum) return Simd::add(Simd::mul(reader.scale(sub), value), reader.minimum(sub));
  return Simd::mul(reader.scale(sub), value);
}

/// Calls use(input, weights) for each input of a lane group in order.
template <class Reader, class Use>
void for_each_input(const std::byte* panel, size_t inputs, size_t group, Use use) {
  size_t input = 0;
  for (const std::byte* block = panel; input < inputs; block += Reader::kBytes) {
    const Reader reader(block, group);
    for (size_t outer = 0; outer < Reader::kSubBlocks / Reader::kUnrolled; ++outer) {
#pragma GCC unroll 4
      for (size_t inner = 0; inner < Reader::kUnrolled; ++inner) {
        Simd::I codes[8];
        const size_t sub = outer * Reader::kUnrolled + inner;
        reader.codes(outer, inner, codes);
        for (size_t quad = 0; quad < 8; ++quad, input += 4) {
          use(input, weight_of<Reader, 0>(reader, sub, quad, codes[quad]));
          use(input + 1, weight_of<Reader, 1>(reader, sub, quad, codes[quad]));
          use(input + 2, weight_of<Reader, 2>(reader, sub, quad, codes[quad]));
          use(input + 3, weight_of<Reader, 3>(reader, sub, quad, codes[quad]));
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
