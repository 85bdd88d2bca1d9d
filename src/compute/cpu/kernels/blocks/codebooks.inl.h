// Readers of codebook entries, looked up in memory: IQ1_*, IQ2_*, IQ3_*. Layouts: format/blocks/iq*.cpp. The tables
// hold magnitudes plus the zero point (codebooks.h), and a code c of a negative value becomes 2 * zero point - c.
#pragma once

#include "compute/cpu/kernels/blocks/reader.inl.h"
#include "compute/cpu/kernels/codebooks.h"

namespace {

using namespace terrace::compute::codebooks;  // NOLINT(google-build-using-namespace): this file's own tables

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
  /// 1 + 2 * scale of the low or high nibbles.
  Simd::F odd_scale(const std::byte* p, size_t high) const {
    const Simd::I both = bytes(p);
    const Simd::I twice = high ? Simd::right<3>(both) : Simd::left<1>(both);
    return Simd::to_float(Simd::ior(Simd::mask_words(twice, 30), Simd::iset1(1)));
  }
  /// Signs of 32 inputs, written by pack_fifth_bits.
  template <int Zero>
  void sign(const std::byte* p, Simd::I (&codes)[8]) const {
    for (int j = 0; j < 8; ++j)
      codes[j] = Simd::reflect<2 * Zero>(codes[j], Simd::bits(p + 8 * j + sizeof(Simd::Bits) * group));
  }
  /// Seven signs per octet, written by pack_seven_signs: the eighth makes the number of negative values even.
  template <int Zero>
  void complete_and_sign(const std::byte* p, Simd::I (&codes)[8]) const {
    for (int octet = 0; octet < 4; ++octet) {
      const Simd::Bits first = Simd::bits(p + 8 * octet + sizeof(Simd::Bits) * group);
      Simd::Bits rest = Simd::three_bits(p + 32 + 6 * octet + 3 * Simd::lanes / 8 * group);
      Simd::Bits odd = first ^ rest;
      odd ^= odd >> 2;
      odd ^= odd >> 1;
      rest |= (odd & static_cast<Simd::Bits>(0x1111111111111111)) << 3;
      codes[2 * octet] = Simd::reflect<2 * Zero>(codes[2 * octet], first);
      codes[2 * octet + 1] = Simd::reflect<2 * Zero>(codes[2 * octet + 1], rest);
    }
  }
};

struct IQ2_XXSReader : CodebookReader {
  static constexpr size_t kBytes = 1056, kUnrolled = 2;
  static constexpr int kZero = 64, kLargest = 107;
  static constexpr bool kHalves = false;
  IQ2_XXSReader(const std::byte* b, size_t g) : CodebookReader(b, g, 0.125F) {}
  void codes(size_t pair, size_t odd, Simd::I (&out)[8]) const {
    const std::byte* at = block + 256 * pair + 16 + 120 * odd;
    for (int o = 0; o < 4; ++o) Simd::octets(kIq2XxsOctets.words, bytes(at + 56 + 16 * o), out[2 * o], out[2 * o + 1]);
    complete_and_sign<kZero>(at, out);
  }
  Simd::F scale(size_t pair, size_t odd) const { return Simd::mul(d, odd_scale(block + 256 * pair, odd)); }
};

struct IQ2_XSReader : CodebookReader {
  static constexpr size_t kBytes = 1184, kUnrolled = 2;
  static constexpr int kZero = 64, kLargest = 107;
  static constexpr bool kHalves = true;
  IQ2_XSReader(const std::byte* b, size_t g) : CodebookReader(b, g, 0.125F) {}
  void codes(size_t pair, size_t odd, Simd::I (&out)[8]) const {
    const std::byte* at = block + 288 * pair + 16 + 136 * odd;
    const Simd::I ninth_bits = bytes(block + 288 * pair);
    look_up<0>(at, odd ? Simd::left<4>(ninth_bits) : Simd::left<8>(ninth_bits), out);
    look_up<1>(at, odd ? Simd::left<3>(ninth_bits) : Simd::left<7>(ninth_bits), out);
    look_up<2>(at, odd ? Simd::left<2>(ninth_bits) : Simd::left<6>(ninth_bits), out);
    look_up<3>(at, odd ? Simd::left<1>(ninth_bits) : Simd::left<5>(ninth_bits), out);
    complete_and_sign<kZero>(at + 16, out);
  }
  Simd::F scale(size_t, size_t) const { return d; }
  Simd::F half_scale(size_t pair, size_t odd, size_t half) const {
    return odd_scale(block + 288 * pair + 16 + 136 * odd, half);
  }

 private:
  template <int Octet>
  void look_up(const std::byte* at, Simd::I high, Simd::I (&out)[8]) const {
    const Simd::I index = Simd::ior(bytes(at + 72 + 16 * Octet), Simd::mask_words(high, 0x100));
    Simd::octets(kIq2XsOctets.words, index, out[2 * Octet], out[2 * Octet + 1]);
  }
};

struct IQ2_SReader : CodebookReader {
  static constexpr size_t kBytes = 1312, kUnrolled = 1;
  static constexpr int kZero = 64, kLargest = 107;
  static constexpr bool kHalves = true;
  IQ2_SReader(const std::byte* b, size_t g) : CodebookReader(b, g, 0.125F) {}
  void codes(size_t s, size_t, Simd::I (&out)[8]) const {
    const std::byte* at = block + 160 * s;
    const Simd::I high = bytes(at + 16);
    look_up<0>(at, Simd::left<8>(high), out);
    look_up<1>(at, Simd::left<6>(high), out);
    look_up<2>(at, Simd::left<4>(high), out);
    look_up<3>(at, Simd::left<2>(high), out);
    sign<kZero>(at + 32, out);
  }
  Simd::F scale(size_t, size_t) const { return d; }
  Simd::F half_scale(size_t s, size_t, size_t half) const { return odd_scale(block + 160 * s, half); }

 private:
  template <int Octet>
  void look_up(const std::byte* at, Simd::I high, Simd::I (&out)[8]) const {
    const Simd::I index = Simd::ior(bytes(at + 96 + 16 * Octet), Simd::mask_words(high, 0x300));
    Simd::octets(kIq2SOctets.words, index, out[2 * Octet], out[2 * Octet + 1]);
  }
};

/// Magnitudes are halved: all are even.
struct IQ3_XXSReader : CodebookReader {
  static constexpr size_t kBytes = 1568, kUnrolled = 2;
  static constexpr int kZero = 32, kLargest = 63;
  static constexpr bool kHalves = false;
  IQ3_XXSReader(const std::byte* b, size_t g) : CodebookReader(b, g, 0.5F) {}
  void codes(size_t pair, size_t odd, Simd::I (&out)[8]) const {
    const std::byte* at = block + 384 * pair + 16 + 184 * odd;
    for (int q = 0; q < 8; ++q) out[q] = Simd::quads(kIq3XxsQuads.words, bytes(at + 56 + 16 * q));
    complete_and_sign<kZero>(at, out);
  }
  Simd::F scale(size_t pair, size_t odd) const { return Simd::mul(d, odd_scale(block + 384 * pair, odd)); }
};

struct IQ3_SReader : CodebookReader {
  static constexpr size_t kBytes = 1760, kUnrolled = 2;
  static constexpr int kZero = 16, kLargest = 31;
  static constexpr bool kHalves = false;
  IQ3_SReader(const std::byte* b, size_t g) : CodebookReader(b, g, 1.0F) {}
  void codes(size_t pair, size_t odd, Simd::I (&out)[8]) const {
    const std::byte* at = block + 432 * pair + 16 + 208 * odd;
    const Simd::I ninth_bits = bytes(at);
    look_up<0>(at, ninth_bits, out);
    look_up<1>(at, ninth_bits, out);
    look_up<2>(at, ninth_bits, out);
    look_up<3>(at, ninth_bits, out);
    look_up<4>(at, ninth_bits, out);
    look_up<5>(at, ninth_bits, out);
    look_up<6>(at, ninth_bits, out);
    look_up<7>(at, ninth_bits, out);
    sign<kZero>(at + 16, out);
  }
  Simd::F scale(size_t pair, size_t odd) const { return Simd::mul(d, odd_scale(block + 432 * pair, odd)); }

 private:
  template <int Quad>
  void look_up(const std::byte* at, Simd::I ninth_bits, Simd::I (&out)[8]) const {
    const Simd::I high = Simd::mask_words(Simd::left<8 - Quad>(ninth_bits), 0x100);
    out[Quad] = Simd::quads(kIq3SQuads.words, Simd::ior(bytes(at + 80 + 16 * Quad), high));
  }
};

/// The 32 values of IQ1_*: codes are 16 times the value, moved eighth and all, plus 32. The table has it moved up.
struct Iq1Octets {
  /// `high` has the entry's high bits at bits 8 to 10, and its sign bit where the eighth is negative.
  static void look_up(Simd::I low, Simd::I high, Simd::I sign, Simd::I& first, Simd::I& second) {
    const Simd::I down = Simd::mask_words(Simd::negative(sign), 0x04040404);
    Simd::octets(kIq1Octets.words, Simd::ior(low, Simd::mask_words(high, 0x700)), first, second);
    first = Simd::isub(first, down);
    second = Simd::isub(second, down);
  }
};

struct IQ1_SReader : CodebookReader {
  static constexpr size_t kBytes = 800, kUnrolled = 1;
  static constexpr int kZero = 32, kLargest = 50;
  static constexpr bool kHalves = false;
  IQ1_SReader(const std::byte* b, size_t g) : CodebookReader(b, g, 0.0625F) {}
  void codes(size_t s, size_t, Simd::I (&out)[8]) const {
    const std::byte* low = block + 96 * s + 32;
    const Simd::I word = word_of(s), sign = Simd::left<16>(word);
    Iq1Octets::look_up(bytes(low), Simd::left<8>(word), sign, out[0], out[1]);
    Iq1Octets::look_up(bytes(low + 16), Simd::left<5>(word), sign, out[2], out[3]);
    Iq1Octets::look_up(bytes(low + 32), Simd::left<2>(word), sign, out[4], out[5]);
    Iq1Octets::look_up(bytes(low + 48), Simd::right<1>(word), sign, out[6], out[7]);
  }
  Simd::F scale(size_t s, size_t) const {
    const Simd::I twice = Simd::mask_words(Simd::right<11>(word_of(s)), 14);
    return Simd::mul(d, Simd::to_float(Simd::ior(twice, Simd::iset1(1))));
  }

 private:
  Simd::I word_of(size_t s) const { return Simd::short_lanes(block + 96 * s + 2 * Simd::lanes * group); }
};

struct IQ1_MReader {
  static constexpr size_t kBytes = 896, kSubBlocks = 8, kUnrolled = 2;
  static constexpr int kZero = 32, kLargest = 50;
  static constexpr bool kMinimum = false, kHalves = true;
  const std::byte* block;
  size_t group;
  Simd::F d;
  IQ1_MReader(const std::byte* b, size_t g) : block(b), group(g) {
    const Simd::I low = Simd::mask_words(Simd::right<12>(scales(0)), 0x000f);
    const Simd::I second = Simd::mask_words(Simd::right<8>(scales(1)), 0x00f0);
    const Simd::I third = Simd::mask_words(Simd::right<4>(scales(2)), 0x0f00);
    const Simd::I high = Simd::mask_words(scales(3), 0xf000);
    d = Simd::mul(Simd::half_words(Simd::ior(Simd::ior(low, second), Simd::ior(third, high))), Simd::set1(0.0625F));
  }
  void codes(size_t pair, size_t odd, Simd::I (&out)[8]) const {
    const std::byte* at = block + 128 + 96 * (2 * pair + odd) + Simd::lanes * group;
    for (int half = 0; half < 2; ++half) {
      const Simd::I nibbles = Simd::byte_lanes(at + 16 * half);
      const std::byte* low = at + 32 + 32 * half;
      Simd::I* quads = out + 4 * half;
      Iq1Octets::look_up(Simd::byte_lanes(low), Simd::left<8>(nibbles), Simd::left<28>(nibbles), quads[0], quads[1]);
      Iq1Octets::look_up(Simd::byte_lanes(low + 16), Simd::left<4>(nibbles), Simd::left<24>(nibbles), quads[2],
                         quads[3]);
    }
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
