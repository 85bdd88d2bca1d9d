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
//
// Some readers yield magnitudes() up to kLargestMagnitude and the word of signs() (format/blocks/signs.h) in the place
// of codes(): some instruction sets rather give the signs to the activations.
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

/// Adds the fifth bits of 32 inputs: bit q of each byte belongs to quad q.
inline void add_fifth_bits(Simd::I bits, Simd::I (&codes)[8]) {
  const auto add = [](Simd::I code, Simd::I moved) { return Simd::or_masked(code, moved, 0x10101010); };
  codes[0] = add(codes[0], Simd::left<4>(bits));
  codes[1] = add(codes[1], Simd::left<3>(bits));
  codes[2] = add(codes[2], Simd::left<2>(bits));
  codes[3] = add(codes[3], Simd::left<1>(bits));
  codes[4] = add(codes[4], bits);
  codes[5] = add(codes[5], Simd::right<1>(bits));
  codes[6] = add(codes[6], Simd::right<2>(bits));
  codes[7] = add(codes[7], Simd::right<3>(bits));
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

template <class Reader>
constexpr bool is_signed = requires(const Reader& reader) { reader.signs(0, 0); };

/// Whether half_scale() is a small integer that multiplier() yields as the dot products take it (kZero is 0).
template <class Reader>
constexpr bool has_multipliers = requires(const Reader& reader) { reader.multiplier(0, 0, 0); };

/// A reader's codes, whether or not it has the signs apart.
template <class Reader>
[[gnu::always_inline]] inline void codes_of(const Reader& reader, size_t outer, size_t inner, Simd::I (&codes)[8]) {
  if constexpr (is_signed<Reader>) {
    reader.magnitudes(outer, inner, codes);
    const Simd::I signs = reader.signs(outer, inner);
#pragma GCC unroll 8
    for (int q = 0; q < 8; ++q) codes[q] = Simd::signed_codes<Reader::kZero>(codes[q], signs, q);
  } else {
    reader.codes(outer, inner, codes);
  }
}

struct OneSubBlock {
  static constexpr size_t kSubBlocks = 1, kUnrolled = 1;
  static constexpr bool kHalves = false;
};

}  // namespace
