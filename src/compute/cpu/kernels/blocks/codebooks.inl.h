// Readers of codebook entries, looked up in memory: IQ1_*, IQ2_*, IQ3_*. Layouts: format/blocks/iq*.cpp.
#pragma once

#include "compute/cpu/kernels/blocks/reader.inl.h"
#include "compute/cpu/kernels/codebooks.h"

namespace {

using namespace terrace::compute::codebooks;  // NOLINT(google-build-using-namespace): this file's own tables

/// Byte `index` of each word, a table index's low bits.
inline Simd::I low_bits(Simd::I words, int index) {
  const Simd::I moved = index == 0   ? words
                        : index == 1 ? Simd::right<8>(words)
                        : index == 2 ? Simd::right<16>(words)
                                     : Simd::right<24>(words);
  return index == 3 ? moved : Simd::mask_words(moved, 255);
}

/// The codes of the octets that `pairs` has, as the tables have them, two levels to a byte. A lookup takes the low half
/// of each byte.
inline void look_up_pair(const uint8_t (&levels)[16], Simd::I pairs, Simd::I& first, Simd::I& second) {
  first = Simd::lookup(levels, pairs);
  second = Simd::lookup(levels, Simd::right<4>(pairs));
}

/// The 256-value panel blocks begin with 16 halves d, then lie sub-block by sub-block.
struct CodebookReader {
  static constexpr size_t kSubBlocks = 8;
  static constexpr bool kMinimum = false;
  const std::byte* block;
  size_t group;
  Simd::F d;
  CodebookReader(const std::byte* b, size_t g, float factor)
      : block(b + 32), group(g), d(Simd::mul(halves(b, g), Simd::set1(factor))) {}

 protected:
  Simd::I bytes(const std::byte* p) const { return Simd::byte_lanes(p + Simd::lanes * group); }
  Simd::I shorts(const std::byte* p) const { return Simd::short_lanes(p + 2 * Simd::lanes * group); }
  Simd::I words(const std::byte* p) const { return Simd::words(lane_words(p, group)); }
  /// 1 + 2 * scale of the low or high nibbles.
  Simd::F odd_scale(const std::byte* p, size_t high) const {
    const Simd::I both = bytes(p);
    const Simd::I twice = high ? Simd::right<3>(both) : Simd::left<1>(both);
    return Simd::to_float(Simd::ior(Simd::mask_words(twice, 30), Simd::iset1(1)));
  }
  /// The same of a scale in the 4 highest bits.
  static Simd::F top_scale(Simd::I signs) {
    return Simd::to_float(Simd::ior(Simd::mask_words(Simd::right<27>(signs), 30), Simd::iset1(1)));
  }
  /// Signs with 7 of each octet's 8: the number of negative values is even. The bits of an octet lie at two places of
  /// the 4 bytes: folding the bytes, then these, leaves the parities on top.
  static Simd::I complete_signs(Simd::I words) {
    const Simd::I signs = Simd::mask_words(words, 0x0fffffff);
    Simd::I parity = Simd::ixor(signs, Simd::left<16>(signs));
    parity = Simd::ixor(parity, Simd::left<8>(parity));
    parity = Simd::ixor(parity, Simd::left<4>(parity));
    return Simd::ior(signs, Simd::mask_words(parity, static_cast<int32_t>(0xf0000000)));
  }
};

/// Octets of the magnitudes 8, 25 and 43.
constexpr uint8_t kIq2Levels[16] = {8, 25, 43};

struct Iq2Reader : CodebookReader {
  static constexpr int kZero = 64, kLargest = 107, kLargestMagnitude = 43;
  Iq2Reader(const std::byte* b, size_t g) : CodebookReader(b, g, 0.125F) {}
};

struct IQ2_XXSReader : Iq2Reader {
  static constexpr size_t kBytes = 1056, kUnrolled = 1;
  static constexpr bool kHalves = false;
  using Iq2Reader::Iq2Reader;
  void magnitudes(size_t s, size_t, Simd::I (&out)[8]) const {
    const Simd::I entries = words(block + 128 * s);
    for (int o = 0; o < 4; ++o)
      look_up_pair(kIq2Levels, Simd::gather(kIq2XxsOctets.words, low_bits(entries, o)), out[2 * o], out[2 * o + 1]);
  }
  Simd::I signs(size_t s, size_t) const { return complete_signs(words(block + 128 * s + 64)); }
  Simd::F scale(size_t s, size_t) const { return Simd::mul(d, top_scale(words(block + 128 * s + 64))); }
};

struct IQ2_XSReader : Iq2Reader {
  static constexpr size_t kBytes = 1184, kUnrolled = 1;
  static constexpr bool kHalves = true;
  using Iq2Reader::Iq2Reader;
  void magnitudes(size_t s, size_t, Simd::I (&out)[8]) const {
    const Simd::I low = words(block + 144 * s + 16), ninth_bits = words(block + 144 * s + 80);
    look_up<0>(low, Simd::right<20>(ninth_bits), out);
    look_up<1>(low, Simd::right<21>(ninth_bits), out);
    look_up<2>(low, Simd::right<22>(ninth_bits), out);
    look_up<3>(low, Simd::right<23>(ninth_bits), out);
  }
  Simd::I signs(size_t s, size_t) const { return complete_signs(words(block + 144 * s + 80)); }
  Simd::F scale(size_t, size_t) const { return d; }
  Simd::F half_scale(size_t s, size_t, size_t half) const { return odd_scale(block + 144 * s, half); }

 private:
  template <int Octet>
  static void look_up(Simd::I low, Simd::I high, Simd::I (&out)[8]) {
    const Simd::I index = Simd::ior(low_bits(low, Octet), Simd::mask_words(high, 0x100));
    look_up_pair(kIq2Levels, Simd::gather(kIq2XsOctets.words, index), out[2 * Octet], out[2 * Octet + 1]);
  }
};

struct IQ2_SReader : Iq2Reader {
  static constexpr size_t kBytes = 1312, kUnrolled = 1;
  static constexpr bool kHalves = true;
  using Iq2Reader::Iq2Reader;
  void magnitudes(size_t s, size_t, Simd::I (&out)[8]) const {
    const Simd::I high = bytes(block + 160 * s + 16), low = words(block + 160 * s + 32);
    look_up<0>(low, Simd::left<8>(high), out);
    look_up<1>(low, Simd::left<6>(high), out);
    look_up<2>(low, Simd::left<4>(high), out);
    look_up<3>(low, Simd::left<2>(high), out);
  }
  Simd::I signs(size_t s, size_t) const { return words(block + 160 * s + 96); }
  Simd::F scale(size_t, size_t) const { return d; }
  Simd::F half_scale(size_t s, size_t, size_t half) const { return odd_scale(block + 160 * s, half); }

 private:
  template <int Octet>
  static void look_up(Simd::I low, Simd::I high, Simd::I (&out)[8]) {
    const Simd::I index = Simd::ior(low_bits(low, Octet), Simd::mask_words(high, 0x300));
    look_up_pair(kIq2Levels, Simd::gather(kIq2SOctets.words, index), out[2 * Octet], out[2 * Octet + 1]);
  }
};

/// Magnitudes are halved: all are even.
struct IQ3_XXSReader : CodebookReader {
  static constexpr size_t kBytes = 1568, kUnrolled = 1;
  static constexpr bool kHalves = false;
  static constexpr int kZero = 32, kLargest = 63, kLargestMagnitude = 31;
  IQ3_XXSReader(const std::byte* b, size_t g) : CodebookReader(b, g, 0.5F) {}
  void magnitudes(size_t s, size_t, Simd::I (&out)[8]) const {
    const Simd::I first = words(block + 192 * s), second = words(block + 192 * s + 64);
    for (int q = 0; q < 8; ++q) out[q] = Simd::gather(kIq3XxsQuads.words, low_bits(q < 4 ? first : second, q % 4));
  }
  Simd::I signs(size_t s, size_t) const { return complete_signs(words(block + 192 * s + 128)); }
  Simd::F scale(size_t s, size_t) const { return Simd::mul(d, top_scale(words(block + 192 * s + 128))); }
};

struct IQ3_SReader : CodebookReader {
  static constexpr size_t kBytes = 1760, kUnrolled = 2;
  static constexpr bool kHalves = false;
  static constexpr int kZero = 16, kLargest = 31, kLargestMagnitude = 15;
  IQ3_SReader(const std::byte* b, size_t g) : CodebookReader(b, g, 1.0F) {}
  void magnitudes(size_t pair, size_t odd, Simd::I (&out)[8]) const {
    const std::byte* at = sub_block(pair, odd);
    const Simd::I ninth_bits = bytes(at), first = words(at + 16), second = words(at + 80);
    look_up<0>(first, ninth_bits, out);
    look_up<1>(first, ninth_bits, out);
    look_up<2>(first, ninth_bits, out);
    look_up<3>(first, ninth_bits, out);
    look_up<4>(second, ninth_bits, out);
    look_up<5>(second, ninth_bits, out);
    look_up<6>(second, ninth_bits, out);
    look_up<7>(second, ninth_bits, out);
  }
  Simd::I signs(size_t pair, size_t odd) const { return words(sub_block(pair, odd) + 144); }
  Simd::F scale(size_t pair, size_t odd) const { return Simd::mul(d, odd_scale(block + 432 * pair, odd)); }

 private:
  const std::byte* sub_block(size_t pair, size_t odd) const { return block + 432 * pair + 16 + 208 * odd; }
  template <int Quad>
  static void look_up(Simd::I low, Simd::I ninth_bits, Simd::I (&out)[8]) {
    const Simd::I high = Simd::mask_words(Simd::left<8 - Quad>(ninth_bits), 0x100);
    out[Quad] = Simd::gather(kIq3SQuads.words, Simd::ior(low_bits(low, Quad % 4), high));
  }
};

/// Octets of -1, 0, 1, moved by an eighth: codes are 8 times the value plus 16 or 32. Levels 4 and up are moved down.
template <int Zero>
struct Iq1Octets {
  static constexpr uint8_t kLevels[16] = {Zero - 7, Zero + 1, Zero + 9, 0, Zero - 9, Zero - 1, Zero + 7};
  /// `high` has the entry's high bits at bits 8 to 10, `sign` its sign bit where the eighth is negative.
  static void look_up(Simd::I low, Simd::I high, Simd::I sign, Simd::I& first, Simd::I& second) {
    const Simd::I down = Simd::mask_words(Simd::negative(sign), 0x44444444);
    const Simd::I pairs = Simd::gather(kIq1Octets.words, Simd::ior(low, Simd::mask_words(high, 0x700)));
    look_up_pair(kLevels, Simd::ior(pairs, down), first, second);
  }
};

struct IQ1_SReader : CodebookReader {
  static constexpr size_t kBytes = 800, kUnrolled = 1;
  static constexpr int kZero = 16, kLargest = 25;
  static constexpr bool kHalves = false;
  IQ1_SReader(const std::byte* b, size_t g) : CodebookReader(b, g, 0.125F) {}
  void codes(size_t s, size_t, Simd::I (&out)[8]) const {
    const Simd::I low = words(block + 96 * s + 32), high = shorts(block + 96 * s), sign = Simd::left<16>(high);
    using Octets = Iq1Octets<kZero>;
    Octets::look_up(low_bits(low, 0), Simd::left<8>(high), sign, out[0], out[1]);
    Octets::look_up(low_bits(low, 1), Simd::left<5>(high), sign, out[2], out[3]);
    Octets::look_up(low_bits(low, 2), Simd::left<2>(high), sign, out[4], out[5]);
    Octets::look_up(low_bits(low, 3), Simd::right<1>(high), sign, out[6], out[7]);
  }
  Simd::F scale(size_t s, size_t) const {
    const Simd::I twice = Simd::mask_words(Simd::right<11>(shorts(block + 96 * s)), 14);
    return Simd::mul(d, Simd::to_float(Simd::ior(twice, Simd::iset1(1))));
  }
};

struct IQ1_MReader {
  static constexpr size_t kBytes = 896, kSubBlocks = 8, kUnrolled = 2;
  static constexpr int kZero = 32, kLargest = 41;
  static constexpr bool kMinimum = false, kHalves = true;
  const std::byte* block;
  size_t group;
  Simd::F d;
  IQ1_MReader(const std::byte* b, size_t g) : block(b), group(g) {
    const Simd::I low = Simd::mask_words(Simd::right<12>(scales(0)), 0x000f);
    const Simd::I second = Simd::mask_words(Simd::right<8>(scales(1)), 0x00f0);
    const Simd::I third = Simd::mask_words(Simd::right<4>(scales(2)), 0x0f00);
    const Simd::I high = Simd::mask_words(scales(3), 0xf000);
    d = Simd::mul(Simd::half_words(Simd::ior(Simd::ior(low, second), Simd::ior(third, high))), Simd::set1(0.125F));
  }
  void codes(size_t pair, size_t odd, Simd::I (&out)[8]) const {
    const std::byte* at = block + 128 + 96 * (2 * pair + odd);
    const Simd::I nibbles = Simd::short_lanes(at + 2 * Simd::lanes * group);
    const Simd::I low = Simd::words(lane_words(at + 32, group));
    using Octets = Iq1Octets<kZero>;
    Octets::look_up(low_bits(low, 0), Simd::left<8>(nibbles), Simd::left<28>(nibbles), out[0], out[1]);
    Octets::look_up(low_bits(low, 1), Simd::left<4>(nibbles), Simd::left<24>(nibbles), out[2], out[3]);
    Octets::look_up(low_bits(low, 2), nibbles, Simd::left<20>(nibbles), out[4], out[5]);
    Octets::look_up(low_bits(low, 3), Simd::right<4>(nibbles), Simd::left<16>(nibbles), out[6], out[7]);
  }
  Simd::F scale(size_t, size_t) const { return d; }
  Simd::F half_scale(size_t pair, size_t odd, size_t half) const {
    const Simd::I word = scales(pair);
    const Simd::I twice = odd ? (half ? Simd::right<8>(word) : Simd::right<5>(word))
                              : (half ? Simd::right<2>(word) : Simd::left<1>(word));
    return Simd::to_float(Simd::ior(Simd::mask_words(twice, 14), Simd::iset1(1)));
  }

 private:
  Simd::I scales(size_t pair) const { return Simd::short_lanes(block + 32 * pair + 2 * Simd::lanes * group); }
};

}  // namespace
