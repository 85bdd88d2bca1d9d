// Readers of 4-bit codes into a list of 16 levels, looked up in registers: MXFP4, NVFP4, IQ4_NL, IQ4_XS. Layouts:
// format/blocks/fp4.cpp and iq4.cpp.
#pragma once

#include "compute/cpu/kernels/blocks/reader.inl.h"

namespace {

// The levels plus a zero point; NVFP4's are doubled.
constexpr uint8_t kMxfp4Codes[16] = {16, 17, 18, 19, 20, 22, 24, 28, 16, 15, 14, 13, 12, 10, 8, 4};
constexpr uint8_t kNvfp4Codes[16] = {32, 34, 36, 38, 40, 44, 48, 56, 32, 30, 28, 26, 24, 20, 16, 8};
constexpr uint8_t kIq4Codes[16] = {1, 24, 45, 63, 79, 93, 106, 118, 129, 141, 153, 166, 181, 197, 217, 241};

inline void look_up_nibbles(const std::byte* words, const uint8_t (&table)[16], Simd::I (&codes)[8]) {
  unpack_nibbles(words, codes);
  for (int j = 0; j < 8; ++j) codes[j] = Simd::lookup(table, codes[j]);
}

struct MXFP4Reader : OneSubBlock {
  static constexpr size_t kBytes = 272;
  static constexpr int kZero = 16, kLargest = 28;
  static constexpr bool kMinimum = false;
  const std::byte* block;
  size_t group;
  MXFP4Reader(const std::byte* b, size_t g) : block(b), group(g) {}
  void codes(size_t, size_t, Simd::I (&out)[8]) const {
    look_up_nibbles(lane_words(block + 16, group), kMxfp4Codes, out);
  }
  /// 2^(e - 128), which reaches below the normal numbers, as the product of two powers that do not.
  Simd::F scale(size_t, size_t) const {
    const Simd::I e = Simd::byte_lanes(block + Simd::lanes * group);
    const Simd::I lower = Simd::right<1>(e), upper = Simd::isub(e, lower);
    const auto power = [](Simd::I n) { return Simd::as_float(Simd::left<23>(Simd::iadd(n, Simd::iset1(63)))); };
    return Simd::mul(power(lower), power(upper));
  }
};

struct NVFP4Reader {
  static constexpr size_t kBytes = 576, kSubBlocks = 2, kUnrolled = 2;
  static constexpr int kZero = 32, kLargest = 56;
  static constexpr bool kMinimum = false, kHalves = true;
  const std::byte* words;
  Simd::I scales;
  NVFP4Reader(const std::byte* b, size_t g) : words(lane_words(b, g) + 64), scales(Simd::words(lane_words(b, g))) {}
  void codes(size_t, size_t s, Simd::I (&out)[8]) const {
    for (size_t j = 0; j < 4; ++j) {
      const Simd::I packed = Simd::words(words + 256 * s + 64 * j);
      const size_t quad = j / 2 * 4 + j % 2;
      out[quad] = Simd::lookup(kNvfp4Codes, Simd::mask_words(packed, 0x0f0f0f0f));
      out[quad + 2] = Simd::lookup(kNvfp4Codes, Simd::mask_words(Simd::right<4>(packed), 0x0f0f0f0f));
    }
  }
  Simd::F scale(size_t, size_t) const { return Simd::set1(1.0F); }
  /// The scale's 7 bits are those of a half with exponents smaller by 8: 2^7 from the exponents, less 2 for the levels.
  Simd::F half_scale(size_t, size_t s, size_t half) const {
    const Simd::I moved = s == 0 ? (half == 0 ? Simd::left<7>(scales) : Simd::right<1>(scales))
                                 : (half == 0 ? Simd::right<9>(scales) : Simd::right<17>(scales));
    return Simd::mul(Simd::half_words(Simd::mask_words(moved, 0x3f80)), Simd::set1(64.0F));
  }
};

struct IQ4_NLReader : OneSubBlock {
  static constexpr size_t kBytes = 288;
  static constexpr int kZero = 128, kLargest = 255;
  static constexpr bool kMinimum = false;
  const std::byte* block;
  size_t group;
  IQ4_NLReader(const std::byte* b, size_t g) : block(b), group(g) {}
  void codes(size_t, size_t, Simd::I (&out)[8]) const {
    look_up_nibbles(lane_words(block + 32, group), kIq4Codes, out);
  }
  Simd::F scale(size_t, size_t) const { return halves(block, group); }
};

struct IQ4_XSReader {
  static constexpr size_t kBytes = 2176, kSubBlocks = 8, kUnrolled = 2;
  static constexpr int kZero = 128, kLargest = 255;
  static constexpr bool kMinimum = false, kHalves = false;
  const std::byte* words;
  Simd::F scales[8];
  IQ4_XSReader(const std::byte* b, size_t g) : words(lane_words(b, g) + 128) {
    const Simd::I head = Simd::words(words - 128), low = Simd::words(words - 64);
    const Simd::F d = Simd::half_words(head);
    set<0>(d, head, low);
    set<1>(d, head, low);
    set<2>(d, head, low);
    set<3>(d, head, low);
    set<4>(d, head, low);
    set<5>(d, head, low);
    set<6>(d, head, low);
    set<7>(d, head, low);
  }
  void codes(size_t pair, size_t odd, Simd::I (&out)[8]) const {
    look_up_nibbles(words + 512 * pair + 256 * odd, kIq4Codes, out);
  }
  Simd::F scale(size_t pair, size_t odd) const { return scales[2 * pair + odd]; }

 private:
  template <int S>
  void set(Simd::F d, Simd::I head, Simd::I low) {
    const Simd::I high_bits = Simd::mask_words(Simd::right<12 + 2 * S>(head), 0x30);
    const Simd::I scale = Simd::ior(nibble(low, S), high_bits);
    scales[S] = Simd::mul(d, Simd::sub(Simd::to_float(scale), Simd::set1(32.0F)));
  }
};

}  // namespace
