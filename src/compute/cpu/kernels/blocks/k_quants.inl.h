// Readers of the 256-value panel blocks: Q4_K, Q5_K, Q6_K. Layouts: format/blocks/q*_k.cpp.
#pragma once

#include "compute/cpu/kernels/blocks/reader.inl.h"

namespace {

/// The 8 scales and minima of Q4_K and Q5_K: the block's first 4 words hold d and dmin, then the 12 packed bytes.
struct ScalesAndMinima {
  Simd::F scales[8], minima[8];

  ScalesAndMinima(const std::byte* words) {
    const Simd::I head = Simd::words(words);
    const Simd::F d = Simd::half_words(head);
    const Simd::F minus_dmin = Simd::sub(Simd::set1(-0.0F), Simd::half_words(Simd::right<16>(head)));
    const Simd::I low = Simd::words(words + 64), middle = Simd::words(words + 128), high = Simd::words(words + 192);
    set<0>(d, minus_dmin, low, middle, high);
    set<1>(d, minus_dmin, low, middle, high);
    set<2>(d, minus_dmin, low, middle, high);
    set<3>(d, minus_dmin, low, middle, high);
  }

 private:
  template <int Bits>
  static Simd::I field(Simd::I words, int32_t mask) {
    return Simd::mask_words(Simd::right<Bits>(words), mask);
  }
  /// Sub-blocks J and J + 4.
  template <int J>
  void set(Simd::F d, Simd::F minus_dmin, Simd::I low, Simd::I middle, Simd::I high) {
    scales[J] = Simd::mul(d, Simd::to_float(field<8 * J>(low, 63)));
    minima[J] = Simd::mul(minus_dmin, Simd::to_float(field<8 * J>(middle, 63)));
    const Simd::I scale = Simd::ior(field<8 * J>(high, 15), Simd::left<4>(field<8 * J + 6>(low, 3)));
    const Simd::I minimum = Simd::ior(field<8 * J + 4>(high, 15), Simd::left<4>(field<8 * J + 6>(middle, 3)));
    scales[J + 4] = Simd::mul(d, Simd::to_float(scale));
    minima[J + 4] = Simd::mul(minus_dmin, Simd::to_float(minimum));
  }
};

/// The codes of sub-block 2 * pair + odd: 8 vectors shared by the pair, the even one in the low nibbles.
inline void unpack_pair(const std::byte* words, size_t odd, Simd::I (&codes)[8]) {
  for (int j = 0; j < 8; ++j) {
    const Simd::I packed = Simd::words(words + 64 * j);
    codes[j] = Simd::mask_words(odd ? Simd::right<4>(packed) : packed, 0x0f0f0f0f);
  }
}

struct Q4_KReader {
  static constexpr size_t kBytes = 2304, kSubBlocks = 8, kUnrolled = 2;
  static constexpr int kBits = 4;
  static constexpr Codes kCodes = Codes::plain;
  static constexpr bool kMinimum = true, kHalves = false;
  ScalesAndMinima head;
  const std::byte* words;
  Q4_KReader(const std::byte* b, size_t g) : head(lane_words(b, g)), words(lane_words(b, g) + 256) {}
  void codes(size_t pair, size_t odd, Simd::I (&out)[8]) const { unpack_pair(words + 512 * pair, odd, out); }
  Simd::F scale(size_t sub) const { return head.scales[sub]; }
  Simd::F minimum(size_t sub) const { return head.minima[sub]; }
};

struct Q5_KReader {
  static constexpr size_t kBytes = 2816, kSubBlocks = 8, kUnrolled = 2;
  static constexpr int kBits = 5;
  static constexpr Codes kCodes = Codes::plain;
  static constexpr bool kMinimum = true, kHalves = false;
  ScalesAndMinima head;
  const std::byte* block;
  size_t group;
  Q5_KReader(const std::byte* b, size_t g) : head(lane_words(b, g)), block(b), group(g) {}
  void codes(size_t pair, size_t odd, Simd::I (&out)[8]) const {
    unpack_pair(lane_words(block + 768, group) + 512 * pair, odd, out);
    add_fifth_bits(block + 256 + 64 * (2 * pair + odd), group, out);
  }
  Simd::F scale(size_t sub) const { return head.scales[sub]; }
  Simd::F minimum(size_t sub) const { return head.minima[sub]; }
};

struct Q6_KReader {
  static constexpr size_t kBytes = 3360, kSubBlocks = 8, kUnrolled = 4;
  static constexpr int kBits = 6;
  static constexpr Codes kCodes = Codes::zero_32;
  static constexpr bool kMinimum = false, kHalves = true;
  Simd::F d;
  Simd::F half_scales[16];
  const std::byte* words;
  Q6_KReader(const std::byte* b, size_t g) : d(halves(b, g)), words(lane_words(b + 288, g)) {
    for (int w = 0; w < 4; ++w) {
      const Simd::I four = Simd::words(lane_words(b + 32, g) + 64 * w);
      half_scales[4 * w] = Simd::to_float(Simd::signed_byte<0>(four));
      half_scales[4 * w + 1] = Simd::to_float(Simd::signed_byte<1>(four));
      half_scales[4 * w + 2] = Simd::to_float(Simd::signed_byte<2>(four));
      half_scales[4 * w + 3] = Simd::to_float(Simd::signed_byte<3>(four));
    }
  }
  /// Sub-block `s` of the 128 values of `half`.
  void codes(size_t half, size_t s, Simd::I (&out)[8]) const {
    const std::byte* low = words + 1536 * half + 512 * (s & 1);
    const std::byte* high = words + 1536 * half + 1024;
    for (int j = 0; j < 8; ++j) {
      const Simd::I nibbles = Simd::words(low + 64 * j), pairs = Simd::words(high + 64 * j);
      const Simd::I low_bits = Simd::mask_words(s >> 1 ? Simd::right<4>(nibbles) : nibbles, 0x0f0f0f0f);
      // The pair at bit 2 s of each byte goes to bits 4 and 5.
      const Simd::I shifted = s == 0   ? Simd::left<4>(pairs)
                              : s == 1 ? Simd::left<2>(pairs)
                              : s == 2 ? pairs
                                       : Simd::right<2>(pairs);
      out[j] = Simd::ior(low_bits, Simd::mask_words(shifted, 0x30303030));
    }
  }
  Simd::F scale(size_t) const { return d; }
  Simd::F half_scale(size_t sub, size_t half) const { return half_scales[2 * sub + half]; }
};

}  // namespace
