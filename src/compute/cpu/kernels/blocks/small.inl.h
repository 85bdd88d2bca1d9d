// Readers of codes of one or two bits: Q1_0, Q2_0, TQ2_0, and the base-3 digits of TQ1_0. Layouts:
// format/blocks/small.cpp and tq1_0.cpp. Except for digits, codes are 8 times the format's, so that the zero point
// is 8.
#pragma once

#include "compute/cpu/kernels/blocks/reader.inl.h"

namespace {

/// The 2-bit codes at bits 2 * place of 32 bytes, moved to bits 3 and 4: 8 times the code.
inline Simd::I eightfold_pairs(Simd::I words, size_t place) {
  const Simd::I moved = place == 0   ? Simd::left<3>(words)
                        : place == 1 ? Simd::left<1>(words)
                        : place == 2 ? Simd::right<1>(words)
                                     : Simd::right<3>(words);
  return Simd::mask_words(moved, 0x18181818);
}

inline Simd::F eighth(Simd::F d) { return Simd::mul(d, Simd::set1(0.125F)); }

/// Codes 0 and 16 for -d and d.
struct Q1_0Reader {
  static constexpr size_t kBytes = 288, kSubBlocks = 4, kUnrolled = 4;
  static constexpr int kZero = 8, kLargest = 16;
  static constexpr bool kMinimum = false, kHalves = false;
  const std::byte* words;
  Simd::F d;
  Q1_0Reader(const std::byte* b, size_t g) : words(lane_words(b + 32, g)), d(eighth(halves(b, g))) {}
  void codes(size_t, size_t s, Simd::I (&out)[8]) const {
    for (int j = 0; j < 4; ++j) {
      const Simd::I packed = Simd::words(words + 64 * j);
      const Simd::I first = s == 0   ? Simd::left<4>(packed)
                            : s == 1 ? Simd::left<2>(packed)
                            : s == 2 ? packed
                                     : Simd::right<2>(packed);
      out[j] = Simd::mask_words(first, 0x10101010);
      out[j + 4] = Simd::mask_words(Simd::right<1>(first), 0x10101010);
    }
  }
  Simd::F scale(size_t, size_t) const { return d; }
};

struct Q2_0Reader {
  static constexpr size_t kBytes = 288, kSubBlocks = 2, kUnrolled = 2;
  static constexpr int kZero = 8, kLargest = 24;
  static constexpr bool kMinimum = false, kHalves = false;
  const std::byte* words;
  Simd::F d;
  Q2_0Reader(const std::byte* b, size_t g) : words(lane_words(b + 32, g)), d(eighth(halves(b, g))) {}
  void codes(size_t, size_t s, Simd::I (&out)[8]) const {
    for (int j = 0; j < 4; ++j) {
      const Simd::I packed = Simd::words(words + 64 * j);
      out[j] = eightfold_pairs(packed, 2 * s);
      out[j + 4] = eightfold_pairs(packed, 2 * s + 1);
    }
  }
  Simd::F scale(size_t, size_t) const { return d; }
};

struct TQ2_0Reader {
  static constexpr size_t kBytes = 1056, kSubBlocks = 8, kUnrolled = 4;
  static constexpr int kZero = 8, kLargest = 24;
  static constexpr bool kMinimum = false, kHalves = false;
  const std::byte* words;
  Simd::F d;
  TQ2_0Reader(const std::byte* b, size_t g) : words(lane_words(b + 32, g)), d(eighth(halves(b, g))) {}
  void codes(size_t half, size_t s, Simd::I (&out)[8]) const {
    for (int j = 0; j < 8; ++j) out[j] = eightfold_pairs(Simd::words(words + 512 * half + 64 * j), s);
  }
  Simd::F scale(size_t, size_t) const { return d; }
};

struct TQ1_0Reader {
  static constexpr size_t kBytes = 864, kSubBlocks = 8, kUnrolled = 8;
  static constexpr int kZero = 1, kLargest = 2;
  static constexpr bool kMinimum = false, kHalves = false;
  const std::byte* words;
  Simd::F d;
  TQ1_0Reader(const std::byte* b, size_t g) : words(lane_words(b + 32, g)), d(halves(b, g)) {}
  void codes(size_t, size_t s, Simd::I (&out)[8]) const {
    for (size_t j = 0; j < 8; ++j) {
      // After the 40 quads of the first 8 words follow the 20 of the next 4, then those of the last.
      const size_t quad = 8 * s + j, rest = quad < 40 ? quad : quad - 40;
      out[j] = quad < 40 ? digit(quad % 8, quad / 8) : quad < 60 ? digit(8 + rest % 4, rest / 4) : digit(12, rest - 20);
    }
  }
  Simd::F scale(size_t, size_t) const { return d; }

 private:
  /// Digit n of each byte of a word. A byte is a fraction: times 3^n it has lost the digits before, and the next one is
  /// how many thirds it has passed.
  Simd::I digit(size_t word, size_t n) const {
    Simd::I fraction = Simd::words(words + 64 * word);
    for (size_t i = 0; i < n; ++i) fraction = Simd::add_bytes(fraction, Simd::add_bytes(fraction, fraction));
    return Simd::add_bytes(Simd::bytes_above(fraction, 85), Simd::bytes_above(fraction, static_cast<int8_t>(170)));
  }
};

}  // namespace
