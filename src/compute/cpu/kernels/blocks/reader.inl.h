// What all block readers share.
//
// A reader is opened at a panel block for one lane group (which lanes a register covers). It yields the panel block in
// sub-blocks of 32 inputs, named by an outer index and an inner one below kUnrolled, which is a constant wherever it is
// used. Its constants:
//   kBytes, kSubBlocks, kUnrolled   of the panel block
//   kZero      what is subtracted from a code to give a value
//   kLargest   the largest code, from which some instruction sets compute how many products they can add in 16 bits
//   kHalves    whether half_scale() further scales each half of 16 inputs
//   kMinimum   whether minimum() is added to the scaled value; with kHalves, half_minimum(), and first_excess() is the
//              first half's minimum less the second's, from exact operands
// codes() yields quads: register q has inputs 4 q .. 4 q + 3 of each lane, one byte each. Codes may be multiples of the
// format's own, the scale being divided by the same power of two: so a zero point becomes one that activation blocks
// have the sums for.
#pragma once

#include "compute/cpu/kernels/multiply.inl.h"

namespace {

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

/// Nibble `index` of each word.
inline Simd::I nibble(Simd::I words, size_t index) {
  const Simd::I moved = index == 0   ? words
                        : index == 1 ? Simd::right<4>(words)
                        : index == 2 ? Simd::right<8>(words)
                        : index == 3 ? Simd::right<12>(words)
                        : index == 4 ? Simd::right<16>(words)
                        : index == 5 ? Simd::right<20>(words)
                        : index == 6 ? Simd::right<24>(words)
                                     : Simd::right<28>(words);
  return Simd::mask_words(moved, 15);
}

/// The 2-bit codes at bits 2 * place of 32 bytes, moved to bits 3 and 4: 8 times the code.
inline Simd::I eightfold_pairs(Simd::I words, size_t place) {
  const Simd::I moved = place == 0   ? Simd::left<3>(words)
                        : place == 1 ? Simd::left<1>(words)
                        : place == 2 ? Simd::right<1>(words)
                                     : Simd::right<3>(words);
  return Simd::mask_words(moved, 0x18181818);
}

struct OneSubBlock {
  static constexpr size_t kSubBlocks = 1, kUnrolled = 1;
  static constexpr bool kHalves = false;
};

}  // namespace
