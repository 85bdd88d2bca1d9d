// Readers of the 32-value panel blocks: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0. Layouts: format/blocks/q*.cpp.
#pragma once

#include "compute/cpu/kernels/blocks/reader.inl.h"

namespace {

struct Q4_0Reader : OneSubBlock {
  static constexpr size_t kBytes = 288;
  static constexpr int kZero = 8, kLargest = 15;
  static constexpr bool kMinimum = false;
  const std::byte* block;
  size_t group;
  Q4_0Reader(const std::byte* b, size_t g) : block(b), group(g) {}
  void codes(size_t, size_t, Simd::I (&out)[8]) const { unpack_nibbles(lane_words(block + 32, group), out); }
  Simd::F scale(size_t, size_t) const { return halves(block, group); }
};

struct Q4_1Reader : OneSubBlock {
  static constexpr size_t kBytes = 320;
  static constexpr int kZero = 0, kLargest = 15;
  static constexpr bool kMinimum = true;
  const std::byte* block;
  size_t group;
  Q4_1Reader(const std::byte* b, size_t g) : block(b), group(g) {}
  void codes(size_t, size_t, Simd::I (&out)[8]) const { unpack_nibbles(lane_words(block + 64, group), out); }
  Simd::F scale(size_t, size_t) const { return halves(block, group); }
  Simd::F minimum(size_t, size_t) const { return halves(block + 32, group); }
};

struct Q5_0Reader : OneSubBlock {
  static constexpr size_t kBytes = 352;
  static constexpr int kZero = 16, kLargest = 31;
  static constexpr bool kMinimum = false;
  const std::byte* block;
  size_t group;
  Q5_0Reader(const std::byte* b, size_t g) : block(b), group(g) {}
  void codes(size_t, size_t, Simd::I (&out)[8]) const {
    unpack_nibbles(lane_words(block + 96, group), out);
    add_fifth_bits(Simd::words(lane_words(block + 32, group)), out);
  }
  Simd::F scale(size_t, size_t) const { return halves(block, group); }
};

struct Q5_1Reader : OneSubBlock {
  static constexpr size_t kBytes = 384;
  static constexpr int kZero = 0, kLargest = 31;
  static constexpr bool kMinimum = true;
  const std::byte* block;
  size_t group;
  Q5_1Reader(const std::byte* b, size_t g) : block(b), group(g) {}
  void codes(size_t, size_t, Simd::I (&out)[8]) const {
    unpack_nibbles(lane_words(block + 128, group), out);
    add_fifth_bits(Simd::words(lane_words(block + 64, group)), out);
  }
  Simd::F scale(size_t, size_t) const { return halves(block, group); }
  Simd::F minimum(size_t, size_t) const { return halves(block + 32, group); }
};

struct Q8_0Reader : OneSubBlock {
  static constexpr size_t kBytes = 544;
  static constexpr int kZero = 128, kLargest = 255;
  static constexpr bool kMinimum = false;
  const std::byte* block;
  size_t group;
  Q8_0Reader(const std::byte* b, size_t g) : block(b), group(g) {}
  void codes(size_t, size_t, Simd::I (&out)[8]) const {
    for (int j = 0; j < 8; ++j) out[j] = Simd::words(lane_words(block + 32, group) + 64 * j);
  }
  Simd::F scale(size_t, size_t) const { return halves(block, group); }
};

}  // namespace
