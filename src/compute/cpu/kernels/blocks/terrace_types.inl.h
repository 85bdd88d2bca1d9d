// Readers of Terrace's own types. Layouts: format/blocks/terrace_types.cpp.
#pragma once

#include "compute/cpu/kernels/blocks/levels.inl.h"

namespace {

// NF4C's levels plus 128.
constexpr uint8_t kNormalFloatCodes[16] = {1, 40, 61, 78, 92, 105, 116, 128, 138, 148, 159, 171, 184, 199, 220, 255};

/// A scale per panel block, then its code words.
template <size_t Values, size_t Bits>
struct OneScaleReader {
  static constexpr size_t kSubBlocks = Values / 32, kUnrolled = 4, kSubBytes = 64 * Bits;
  static constexpr size_t kBytes = 32 + kSubBlocks * kSubBytes;
  static constexpr bool kMinimum = false, kHalves = false;
  const std::byte* words;
  Simd::F d;
  OneScaleReader(const std::byte* b, size_t g) : words(lane_words(b + 32, g)), d(halves(b, g)) {}
  const std::byte* codes_at(size_t outer, size_t inner) const {
    return words + kSubBytes * (kUnrolled * outer + inner);
  }
  Simd::F scale(size_t, size_t) const { return d; }
};

template <size_t Values>
struct Linear4Reader : OneScaleReader<Values, 4> {
  static constexpr int kZero = 8, kLargest = 15;
  using OneScaleReader<Values, 4>::OneScaleReader;
  void codes(size_t outer, size_t inner, Simd::I (&out)[8]) const { unpack_nibbles(this->codes_at(outer, inner), out); }
};

template <size_t Values>
struct Linear8Reader : OneScaleReader<Values, 8> {
  static constexpr int kZero = 128, kLargest = 255;
  using OneScaleReader<Values, 8>::OneScaleReader;
  void codes(size_t outer, size_t inner, Simd::I (&out)[8]) const {
    const std::byte* at = this->codes_at(outer, inner);
    for (int j = 0; j < 8; ++j) out[j] = Simd::words(at + 64 * j);
  }
};

struct NF4CReader : OneScaleReader<256, 4> {
  static constexpr int kZero = 128, kLargest = 255;
  using OneScaleReader<256, 4>::OneScaleReader;
  void codes(size_t outer, size_t inner, Simd::I (&out)[8]) const {
    look_up_nibbles(codes_at(outer, inner), kNormalFloatCodes, out);
  }
};

}  // namespace
