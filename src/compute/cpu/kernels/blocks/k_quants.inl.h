// Readers of the 256-value panel blocks: Q2_K to Q6_K. Layouts: format/blocks/q*_k.cpp.
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
  /// Sub-blocks J and J + 4, whose 6 bits lie in byte J of the words.
  template <int J>
  void set(Simd::F d, Simd::F minus_dmin, Simd::I low, Simd::I middle, Simd::I high) {
    const auto sixes = [](Simd::I word) { return Simd::mask_words(word, 0x3f3f3f3f); };
    const auto tops = [](Simd::I word) { return Simd::mask_words(Simd::right<2>(word), 0x30303030); };
    scales[J] = Simd::mul(d, Simd::to_float(Simd::byte_of<J>(sixes(low))));
    minima[J] = Simd::mul(minus_dmin, Simd::to_float(Simd::byte_of<J>(sixes(middle))));
    scales[J + 4] = Simd::mul(d, Simd::to_float(Simd::byte_of<J>(Simd::or_masked(tops(low), high, 0x0f0f0f0f))));
    const Simd::I minimum = Simd::or_masked(tops(middle), Simd::right<4>(high), 0x0f0f0f0f);
    minima[J + 4] = Simd::mul(minus_dmin, Simd::to_float(Simd::byte_of<J>(minimum)));
  }
};

struct Q2_KReader {
  static constexpr size_t kBytes = 1344, kSubBlocks = 8, kUnrolled = 4;
  static constexpr int kZero = 0, kLargest = 12;
  static constexpr bool kMinimum = true, kHalves = true;
  const std::byte* words;
  Simd::F d, quarter_d, minus_dmin;
  Q2_KReader(const std::byte* b, size_t g) : words(lane_words(b, g) + 64) {
    const Simd::I head = Simd::words(words - 64);
    d = Simd::half_words(head);
    quarter_d = Simd::mul(d, Simd::set1(0.25F));
    minus_dmin = Simd::sub(Simd::set1(-0.0F), Simd::half_words(Simd::right<16>(head)));
  }
  /// Sub-block `s` of the 128 values of `half`; 4 times the codes of the second one, which need not be moved.
  void codes(size_t half, size_t s, Simd::I (&out)[8]) const {
    for (int j = 0; j < 8; ++j) {
      const Simd::I packed = Simd::words(words + 256 + 512 * half + 64 * j);
      out[j] = s == 0   ? Simd::mask_words(packed, 0x03030303)
               : s == 1 ? Simd::mask_words(packed, 0x0c0c0c0c)
               : s == 2 ? Simd::mask_words(Simd::right<4>(packed), 0x03030303)
                        : Simd::mask_words(Simd::right<6>(packed), 0x03030303);
    }
  }
  Simd::F scale(size_t, size_t s) const { return s == 1 ? quarter_d : d; }
  /// Scales are below 16, so that the halves' dot products can be scaled and added as integers.
  Simd::I multiplier(size_t half, size_t s, size_t sixteen) const {
    const Simd::I scales = Simd::mask_words(packed(half, s), 0x0f0f0f0f);
    return (s & 1) == 0 ? (sixteen == 0 ? Simd::multiplier<0>(scales) : Simd::multiplier<1>(scales))
                        : (sixteen == 0 ? Simd::multiplier<2>(scales) : Simd::multiplier<3>(scales));
  }
  Simd::F half_scale(size_t half, size_t s, size_t sixteen) const {
    return Simd::to_float(small(Simd::mask_words(packed(half, s), 0x0f0f0f0f), s, sixteen));
  }
  Simd::F half_minimum(size_t half, size_t s, size_t sixteen) const {
    return Simd::mul(minus_dmin, Simd::to_float(small(minima(half, s), s, sixteen)));
  }
  Simd::F first_excess(size_t half, size_t s) const {
    const Simd::I first = small(minima(half, s), s, 0), second = small(minima(half, s), s, 1);
    return Simd::mul(minus_dmin, Simd::to_float(Simd::isub(first, second)));
  }

 private:
  /// The scales and minima of two sub-blocks, a byte for 16 values.
  Simd::I packed(size_t half, size_t s) const { return Simd::words(words + 64 * (2 * half + s / 2)); }
  Simd::I minima(size_t half, size_t s) const { return Simd::mask_words(Simd::right<4>(packed(half, s)), 0x0f0f0f0f); }
  /// The byte of 16 values.
  static Simd::I small(Simd::I bytes, size_t s, size_t sixteen) {
    return (s & 1) == 0 ? (sixteen == 0 ? Simd::byte_of<0>(bytes) : Simd::byte_of<1>(bytes))
                        : (sixteen == 0 ? Simd::byte_of<2>(bytes) : Simd::byte_of<3>(bytes));
  }
};

struct Q3_KReader {
  static constexpr size_t kBytes = 1760, kSubBlocks = 8, kUnrolled = 4;
  static constexpr int kZero = 32, kLargest = 56;
  static constexpr bool kMinimum = false, kHalves = true;
  const std::byte* words;
  Simd::F d;
  Simd::I scales[4];
  Q3_KReader(const std::byte* b, size_t g) : words(lane_words(b + 224, g)) {
    d = Simd::mul(halves(b, g), Simd::set1(0.125F));
    const std::byte* packed = lane_words(b + 32, g);
    const Simd::I low = Simd::words(packed), middle = Simd::words(packed + 64), high = Simd::words(packed + 128);
    const auto nibbles = [](Simd::I a) { return Simd::mask_words(a, 0x0f0f0f0f); };
    const auto pairs = [](Simd::I a) { return Simd::mask_words(a, 0x30303030); };
    scales[0] = Simd::ior(nibbles(low), pairs(Simd::left<4>(high)));
    scales[1] = Simd::ior(nibbles(middle), pairs(Simd::left<2>(high)));
    scales[2] = Simd::ior(nibbles(Simd::right<4>(low)), pairs(high));
    scales[3] = Simd::ior(nibbles(Simd::right<4>(middle)), pairs(Simd::right<2>(high)));
  }
  /// 8 times the codes.
  void codes(size_t half, size_t s, Simd::I (&out)[8]) const {
    const std::byte* at = words + 768 * half + 192 * s;
    const Simd::I a = Simd::words(at), b = Simd::words(at + 64), c = Simd::words(at + 128);
    const auto at_bit_0 = [](Simd::I word) { return Simd::mask_words(Simd::left<3>(word), 0x38383838); };
    const auto at_bit_3 = [](Simd::I word) { return Simd::mask_words(word, 0x38383838); };
    const auto low_pair = [](Simd::I word) { return Simd::mask_words(Simd::right<3>(word), 0x18181818); };
    out[0] = at_bit_0(a);
    out[1] = at_bit_3(a);
    out[2] = at_bit_0(b);
    out[3] = at_bit_3(b);
    out[4] = at_bit_0(c);
    out[5] = at_bit_3(c);
    out[6] = Simd::or_masked(low_pair(a), Simd::right<1>(c), 0x20202020);
    out[7] = Simd::or_masked(low_pair(b), Simd::right<2>(c), 0x20202020);
  }
  Simd::F scale(size_t, size_t) const { return d; }
  Simd::F half_scale(size_t half, size_t s, size_t sixteen) const {
    const Simd::I four = scales[2 * half + s / 2];
    const Simd::I scale = (s & 1) == 0 ? (sixteen == 0 ? four : Simd::right<8>(four))
                                       : (sixteen == 0 ? Simd::right<16>(four) : Simd::right<24>(four));
    return Simd::sub(Simd::to_float(Simd::mask_words(scale, 63)), Simd::set1(32.0F));
  }
};

struct Q4_KReader {
  static constexpr size_t kBytes = 2304, kSubBlocks = 8, kUnrolled = 2;
  static constexpr int kZero = 0, kLargest = 15;
  static constexpr bool kMinimum = true, kHalves = false;
  ScalesAndMinima head;
  const std::byte* words;
  Q4_KReader(const std::byte* b, size_t g) : head(lane_words(b, g)), words(lane_words(b, g) + 256) {}
  /// 8 words shared by the pair, the even sub-block in the low nibbles.
  void codes(size_t pair, size_t odd, Simd::I (&out)[8]) const {
    for (size_t j = 0; j < 8; ++j) {
      const Simd::I packed = Simd::words(words + 512 * pair + 64 * j);
      out[j] = Simd::mask_words(odd ? Simd::right<4>(packed) : packed, 0x0f0f0f0f);
    }
  }
  Simd::F scale(size_t pair, size_t odd) const { return head.scales[2 * pair + odd]; }
  Simd::F minimum(size_t pair, size_t odd) const { return head.minima[2 * pair + odd]; }
};

struct Q5_KReader {
  static constexpr size_t kBytes = 2816, kSubBlocks = 8, kUnrolled = 2;
  static constexpr int kZero = 0, kLargest = 31;
  static constexpr bool kMinimum = true, kHalves = false;
  ScalesAndMinima head;
  const std::byte* words;
  Q5_KReader(const std::byte* b, size_t g) : head(lane_words(b, g)), words(lane_words(b, g) + 256) {}
  void codes(size_t pair, size_t odd, Simd::I (&out)[8]) const {
    const std::byte* at = words + 320 * (2 * pair + odd);
    Simd::I five[5];
    for (size_t w = 0; w < 5; ++w) {
      five[w] = Simd::words(at + 64 * w);
      out[w] = Simd::mask_words(five[w], 0x1f1f1f1f);
    }
    for (size_t w = 0; w < 3; ++w) out[5 + w] = Simd::mask_words(Simd::right<5>(five[w]), 0x07070707);
    out[5] = Simd::or_masked(out[5], Simd::right<2>(five[3]), 0x18181818);
    out[6] = Simd::or_masked(out[6], Simd::right<2>(five[4]), 0x18181818);
    out[7] = Simd::or_masked(out[7], Simd::right<4>(five[3]), 0x08080808);
    out[7] = Simd::or_masked(out[7], Simd::right<3>(five[4]), 0x10101010);
  }
  Simd::F scale(size_t pair, size_t odd) const { return head.scales[2 * pair + odd]; }
  Simd::F minimum(size_t pair, size_t odd) const { return head.minima[2 * pair + odd]; }
};

struct Q6_KReader {
  static constexpr size_t kBytes = 3360, kSubBlocks = 8, kUnrolled = 4;
  static constexpr int kZero = 32, kLargest = 63;
  static constexpr bool kMinimum = false, kHalves = true;
  Simd::F d;
  const std::byte *scales, *words;
  Q6_KReader(const std::byte* b, size_t g)
      : d(halves(b, g)), scales(b + 32 + Simd::lanes * g), words(lane_words(b + 288, g)) {}
  void codes(size_t outer, size_t s, Simd::I (&out)[8]) const {
    for (size_t half = 0; half < 2; ++half) {
      const std::byte* at = words + 1536 * outer + 384 * s + 192 * half;
      const Simd::I a = Simd::words(at), b = Simd::words(at + 64), c = Simd::words(at + 128);
      out[4 * half] = Simd::mask_words(a, 0x3f3f3f3f);
      out[4 * half + 1] = Simd::mask_words(b, 0x3f3f3f3f);
      out[4 * half + 2] = Simd::mask_words(c, 0x3f3f3f3f);
      const Simd::I low = Simd::mask_words(Simd::right<6>(a), 0x03030303);
      out[4 * half + 3] =
          Simd::or_masked(Simd::or_masked(low, Simd::right<4>(b), 0x0c0c0c0c), Simd::right<2>(c), 0x30303030);
    }
  }
  Simd::F scale(size_t, size_t) const { return d; }
  Simd::F half_scale(size_t outer, size_t s, size_t half) const {
    return Simd::to_float(Simd::signed_byte_lanes(scales + 16 * (8 * outer + 2 * s + half)));
  }
};

}  // namespace
