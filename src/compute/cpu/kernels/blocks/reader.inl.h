// A reader is opened at a panel block for one lane group (which lanes a register covers) and yields, per sub-block of
// 32 inputs, the codes in quads (register q: inputs 4q..4q+3 of each lane), the scale, and the minimum that is added.
// Its constants say the rest.
#pragma once

#include "compute/cpu/kernels/multiply.inl.h"

namespace {

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

}  // namespace
