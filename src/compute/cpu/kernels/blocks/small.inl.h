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
    for (size_t i = 0; i < 4; ++i) {
      if (s < 6)
        digits(pair(s, i), out[2 * i], out[2 * i + 1]);
      else if (s == 6 || i < 2)
        digits(pair(4 * (s - 6) + i, 4), out[2 * i], out[2 * i + 1]);
      else
        digits(last_pair(i - 2), out[2 * i], out[2 * i + 1]);
    }
  }
  Simd::F scale(size_t, size_t) const { return d; }

 private:
  /// Two digits of four values as numbers below 9: those at places 2 i and 2 i + 1 of two words' fractions.
  Simd::I pair(size_t two, size_t i) const {
    const Simd::I even = digit_pair(Simd::words(words + 128 * two), i);
    const Simd::I odd = digit_pair(Simd::words(words + 128 * two + 64), i);
    return Simd::ior(even, Simd::left<8>(odd));
  }
  /// A fraction of 16 bits times 9^i has lost the pairs before, and the next one is how many ninths it has passed.
  static Simd::I digit_pair(Simd::I fractions, size_t i) {
    constexpr uint16_t kNines[] = {1, 9, 81, 729, 6561};
    return Simd::multiply_high(i == 0 ? fractions : Simd::multiply_low(fractions, kNines[i]), 9);
  }
  Simd::I last_pair(size_t i) const {
    const Simd::I last = Simd::words(words + 64 * 12);
    return Simd::mask_words(i == 0 ? last : Simd::right<4>(last), 0x0f0f0f0f);
  }
  static void digits(Simd::I pair, Simd::I& first, Simd::I& second) {
    static constexpr uint8_t kFirst[16] = {0, 0, 0, 1, 1, 1, 2, 2, 2}, kSecond[16] = {0, 1, 2, 0, 1, 2, 0, 1, 2};
    first = Simd::lookup(kFirst, pair);
    second = Simd::lookup(kSecond, pair);
  }
};

}  // namespace
