// Readers of the 32-value panel blocks: Q4_0, Q4_1, Q5_0, Q5_1, Q8_0. Layouts: format/blocks/q*.cpp.
//
// A reader is opened at a panel block for one lane group (which lanes a register covers) and yields, per sub-block of
// 32 inputs, the codes in quads (register q: inputs 4q..4q+3 of each lane), the scale, and the minimum that is added.
// Its constants say the rest.
#pragma once

#include "compute/cpu/kernels/kernels.h"

namespace {

using terrace::compute::ActivationBlock;

/// How codes become values: unsigned codes minus a zero point, or bytes with 128 added.
enum class Codes { plain, zero_8, zero_16, zero_32, biased_128 };

/// The 4-bit codes of 32 inputs: 4 vectors, inputs 0..15 in the low nibbles.
inline void unpack_nibbles(const std::byte* words, Simd::I (&codes)[8]) {
  for (int j = 0; j < 4; ++j) {
    const Simd::I packed = Simd::words(words + 64 * j);
    codes[j] = Simd::mask_words(packed, 0x0f0f0f0f);
    codes[j + 4] = Simd::mask_words(Simd::right<4>(packed), 0x0f0f0f0f);
  }
}

/// Adds the fifth bits of 32 inputs, 8 bytes per quad.
inline void add_fifth_bits(const std::byte* bits, size_t group, Simd::I (&codes)[8]) {
  for (int j = 0; j < 8; ++j) codes[j] = Simd::add_fifth_bits(codes[j], bits + 8 * j + group * Simd::lanes / 2);
}

inline Simd::F halves(const std::byte* block, size_t group) {
  return Simd::load_half(reinterpret_cast<const uint16_t*>(block) + group * Simd::lanes);
}
inline const std::byte* lane_words(const std::byte* block, size_t group) { return block + 4 * Simd::lanes * group; }

struct OneSubBlock {
  static constexpr size_t kSubBlocks = 1, kUnrolled = 1;
  static constexpr bool kHalves = false;
};

struct Q4_0Reader : OneSubBlock {
  static constexpr size_t kBytes = 288;
  static constexpr int kBits = 4;
  static constexpr Codes kCodes = Codes::zero_8;
  static constexpr bool kMinimum = false;
  const std::byte* block;
  size_t group;
  Q4_0Reader(const std::byte* b, size_t g) : block(b), group(g) {}
  void codes(size_t, size_t, Simd::I (&out)[8]) const { unpack_nibbles(lane_words(block + 32, group), out); }
  Simd::F scale(size_t) const { return halves(block, group); }
};

struct Q4_1Reader : OneSubBlock {
  static constexpr size_t kBytes = 320;
  static constexpr int kBits = 4;
  static constexpr Codes kCodes = Codes::plain;
  static constexpr bool kMinimum = true;
  const std::byte* block;
  size_t group;
  Q4_1Reader(const std::byte* b, size_t g) : block(b), group(g) {}
  void codes(size_t, size_t, Simd::I (&out)[8]) const { unpack_nibbles(lane_words(block + 64, group), out); }
  Simd::F scale(size_t) const { return halves(block, group); }
  Simd::F minimum(size_t) const { return halves(block + 32, group); }
};

struct Q5_0Reader : OneSubBlock {
  static constexpr size_t kBytes = 352;
  static constexpr int kBits = 5;
  static constexpr Codes kCodes = Codes::zero_16;
  static constexpr bool kMinimum = false;
  const std::byte* block;
  size_t group;
  Q5_0Reader(const std::byte* b, size_t g) : block(b), group(g) {}
  void codes(size_t, size_t, Simd::I (&out)[8]) const {
    unpack_nibbles(lane_words(block + 96, group), out);
    add_fifth_bits(block + 32, group, out);
  }
  Simd::F scale(size_t) const { return halves(block, group); }
};

struct Q5_1Reader : OneSubBlock {
  static constexpr size_t kBytes = 384;
  static constexpr int kBits = 5;
  static constexpr Codes kCodes = Codes::plain;
  static constexpr bool kMinimum = true;
  const std::byte* block;
  size_t group;
  Q5_1Reader(const std::byte* b, size_t g) : block(b), group(g) {}
  void codes(size_t, size_t, Simd::I (&out)[8]) const {
    unpack_nibbles(lane_words(block + 128, group), out);
    add_fifth_bits(block + 64, group, out);
  }
  Simd::F scale(size_t) const { return halves(block, group); }
  Simd::F minimum(size_t) const { return halves(block + 32, group); }
};

struct Q8_0Reader : OneSubBlock {
  static constexpr size_t kBytes = 544;
  static constexpr int kBits = 8;
  static constexpr Codes kCodes = Codes::biased_128;
  static constexpr bool kMinimum = false;
  const std::byte* block;
  size_t group;
  Q8_0Reader(const std::byte* b, size_t g) : block(b), group(g) {}
  void codes(size_t, size_t, Simd::I (&out)[8]) const {
    for (int j = 0; j < 8; ++j) out[j] = Simd::words(lane_words(block + 32, group) + 64 * j);
  }
  Simd::F scale(size_t) const { return halves(block, group); }
};

}  // namespace
