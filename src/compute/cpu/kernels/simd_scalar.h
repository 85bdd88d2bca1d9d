// The reference: 16 lanes as plain arrays, one standard operation per lane.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/half.h"

namespace {

struct Simd {
  static constexpr size_t lanes = 16;
  static constexpr size_t registers = 0;  // arrays: nothing is gained by working on several rows at a time
  struct F {
    float v[16];
  };
  struct I {
    int32_t v[16];
  };

  template <class Function>
  static F map(Function function) {
    F r;
    for (int i = 0; i < 16; ++i) r.v[i] = function(i);
    return r;
  }
  template <class Function>
  static I imap(Function function) {
    I r;
    for (int i = 0; i < 16; ++i) r.v[i] = function(i);
    return r;
  }

  static F set1(float x) {
    return map([&](int) { return x; });
  }
  static F load(const float* p) {
    return map([&](int i) { return p[i]; });
  }
  static F load_half(const uint16_t* p) {
    return map([&](int i) { return terrace::half_to_float(p[i]); });
  }
  static F load_bf16(const uint16_t* p) {
    return map([&](int i) { return terrace::bf16_to_float(p[i]); });
  }
  static void store(float* p, F x) { std::memcpy(p, x.v, sizeof x.v); }
  static void store_half(uint16_t* p, F x) {
    for (int i = 0; i < 16; ++i) p[i] = terrace::float_to_half(x.v[i]);
  }
  static F add(F a, F b) {
    return map([&](int i) { return a.v[i] + b.v[i]; });
  }
  static F sub(F a, F b) {
    return map([&](int i) { return a.v[i] - b.v[i]; });
  }
  static F mul(F a, F b) {
    return map([&](int i) { return a.v[i] * b.v[i]; });
  }
  static F div(F a, F b) {
    return map([&](int i) { return a.v[i] / b.v[i]; });
  }
  static F fma(F a, F b, F c) {
    return map([&](int i) { return std::fma(a.v[i], b.v[i], c.v[i]); });
  }
  static F max(F a, F b) {
    return map([&](int i) { return a.v[i] > b.v[i] ? a.v[i] : b.v[i]; });
  }
  static F min(F a, F b) {
    return map([&](int i) { return a.v[i] < b.v[i] ? a.v[i] : b.v[i]; });
  }
  static F abs(F a) {
    return map([&](int i) { return std::fabs(a.v[i]); });
  }
  static F round(F a) {
    return map([&](int i) { return std::nearbyint(a.v[i]); });
  }
  /// a < b ? x : y, per lane
  static F select_less(F a, F b, F x, F y) {
    return map([&](int i) { return a.v[i] < b.v[i] ? x.v[i] : y.v[i]; });
  }
  /// 2^n * x for integral n
  static F scale_by_power(F x, F n) {
    return map([&](int i) {
      const auto exponent = static_cast<uint32_t>(static_cast<int32_t>(n.v[i]) + 127) << 23;
      float power;
      std::memcpy(&power, &exponent, sizeof power);
      return x.v[i] * power;
    });
  }
  static float first(F a) { return a.v[0]; }
  /// Folds 16 lanes: i with i + 8, then 4, 2, 1.
  template <class Fold>
  static float fold(F a, Fold fold) {
    for (int width = 8; width > 0; width /= 2) {
      for (int i = 0; i < width; ++i) a.v[i] = fold(a.v[i], a.v[i + width]);
    }
    return a.v[0];
  }
  static float sum16(const F* a) {
    return fold(a[0], [](float x, float y) { return x + y; });
  }
  static float max16(const F* a) {
    return fold(a[0], [](float x, float y) { return x > y ? x : y; });
  }

  static I words(const void* p) {
    I r;
    std::memcpy(r.v, p, sizeof r.v);
    return r;
  }
  static I iset1(int32_t x) {
    return imap([&](int) { return x; });
  }
  static F to_float(I a) {
    return map([&](int i) { return static_cast<float>(a.v[i]); });
  }
  static I to_int(F a) {
    return imap([&](int i) { return static_cast<int32_t>(std::lrintf(a.v[i])); });
  }
  static int32_t isum16(const I* a) {
    int32_t sum = 0;
    for (const int32_t x : a->v) sum += x;
    return sum;
  }
  static void store_int8(int8_t* p, I a) {
    for (int i = 0; i < 16; ++i) p[i] = static_cast<int8_t>(a.v[i]);
  }
  static I mask_words(I a, int32_t mask) {
    return imap([&](int i) { return a.v[i] & mask; });
  }
  static I ior(I a, I b) {
    return imap([&](int i) { return a.v[i] | b.v[i]; });
  }
  template <int Bits>
  static I right(I a) {
    return imap([&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) >> Bits); });
  }
  template <int Bits>
  static I left(I a) {
    return imap([&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) << Bits); });
  }
  /// Byte `Byte` of each word.
  template <int Byte>
  static I byte_of(I a) {
    return imap([&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) >> 8 * Byte & 255); });
  }
  /// The low halves of the words, as floats.
  static F half_words(I a) {
    return map([&](int i) { return terrace::half_to_float(static_cast<uint16_t>(a.v[i])); });
  }
  /// a | (b & mask)
  static I or_masked(I a, I b, int32_t mask) {
    return imap([&](int i) { return a.v[i] | (b.v[i] & mask); });
  }

  // ---- bytes, tables and signs, for types with codebooks ----

  static F as_float(I a) {
    F r;
    std::memcpy(r.v, a.v, sizeof r.v);
    return r;
  }
  static I iadd(I a, I b) {
    return imap(
        [&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) + static_cast<uint32_t>(b.v[i])); });
  }
  static I isub(I a, I b) {
    return imap(
        [&](int i) { return static_cast<int32_t>(static_cast<uint32_t>(a.v[i]) - static_cast<uint32_t>(b.v[i])); });
  }
  static I ixor(I a, I b) {
    return imap([&](int i) { return a.v[i] ^ b.v[i]; });
  }
  /// All ones where the word is negative.
  static I negative(I a) {
    return imap([&](int i) { return a.v[i] < 0 ? -1 : 0; });
  }
  /// A byte per lane, as words: unsigned, signed.
  static I byte_lanes(const std::byte* p) {
    return imap([&](int i) { return std::to_integer<int32_t>(p[i]); });
  }
  /// 16 bits per lane, as words.
  static I signed_byte_lanes(const std::byte* p) {
    return imap([&](int i) { return int32_t{static_cast<int8_t>(p[i])}; });
  }
  static I short_lanes(const std::byte* p) {
    return imap([&](int i) {
      uint16_t half;
      std::memcpy(&half, p + 2 * i, sizeof half);
      return int32_t{half};
    });
  }
  template <class Byte>
  static I map_bytes(I a, Byte byte) {
    return imap([&](int i) {
      uint32_t word = 0;
      for (int t = 0; t < 4; ++t) word |= (byte(static_cast<uint32_t>(a.v[i]) >> 8 * t & 255) & 255) << 8 * t;
      return static_cast<int32_t>(word);
    });
  }
  template <class Short>
  static I map_shorts(I a, Short number) {
    return imap([&](int i) {
      const auto word = static_cast<uint32_t>(a.v[i]);
      return static_cast<int32_t>((number(word & 65535) & 65535) | number(word >> 16) << 16);
    });
  }
  /// The low or high 16 bits of each unsigned 16-bit number times the factor.
  static I multiply_low(I a, uint16_t factor) {
    return map_shorts(a, [=](uint32_t x) { return x * factor; });
  }
  static I multiply_high(I a, uint16_t factor) {
    return map_shorts(a, [=](uint32_t x) { return x * factor >> 16; });
  }
  /// The table's entry for the low 4 bits of each byte, which is below 128.
  static I lookup(const uint8_t (&table)[16], I a) {
    return map_bytes(a, [&](uint32_t b) { return uint32_t{table[b & 15]}; });
  }
  /// The table's word for each lane's index.
  static I gather(const uint32_t* table, I index) {
    return imap([&](int i) { return static_cast<int32_t>(table[index.v[i]]); });
  }
  /// Zero plus or minus each magnitude of quad `quad`: `signs` as in format/blocks/signs.h.
  template <int Zero>
  static I signed_codes(I magnitudes, I signs, int quad) {
    const int place = quad / 2 + quad % 2 * 4;
    return imap([&](int i) {
      uint32_t word = 0;
      for (int t = 0; t < 4; ++t) {
        const uint32_t magnitude = static_cast<uint32_t>(magnitudes.v[i]) >> 8 * t & 255;
        const bool negative = static_cast<uint32_t>(signs.v[i]) >> (8 * t + place) & 1;
        word |= (negative ? Zero - magnitude : Zero + magnitude) << 8 * t;
      }
      return static_cast<int32_t>(word);
    });
  }
  static constexpr size_t negated_rows = 1;
  /// The dot product of `Quads` quads from quad `First` on, the activations taking the signs of the weights.
  template <int Largest, int First, int Quads>
  static I dot_signed(const I* magnitudes, I signs, const int8_t* x) {
    I sum = {};
    for (int q = First; q < First + Quads; ++q) {
      const int place = q / 2 + q % 2 * 4;
      for (int i = 0; i < 16; ++i) {
        for (int t = 0; t < 4; ++t) {
          const auto magnitude = static_cast<int32_t>(static_cast<uint32_t>(magnitudes[q].v[i]) >> 8 * t & 255);
          const bool negative = static_cast<uint32_t>(signs.v[i]) >> (8 * t + place) & 1;
          sum.v[i] += magnitude * (negative ? -x[4 * q + t] : x[4 * q + t]);
        }
      }
    }
    return sum;
  }

  template <int Largest, int Quads>
  static I dot(const I* codes, const int8_t* x, I start) {
    for (int q = 0; q < Quads; ++q) {
      for (int i = 0; i < 16; ++i) {
        for (int t = 0; t < 4; ++t)
          start.v[i] += static_cast<int32_t>(static_cast<uint32_t>(codes[q].v[i]) >> 8 * t & 255) * x[4 * q + t];
      }
    }
    return start;
  }
  /// Byte `Byte` of each word, as dot_multiplied() takes it.
  template <int Byte>
  static I multiplier(I words) {
    return mask_words(right<8 * Byte>(words), 255);
  }
  /// The dot products of two halves of 16, each times its multiplier.
  template <int Largest>
  static I dot_multiplied(const I* codes, const int8_t* x, const I (&multipliers)[2]) {
    const I first = dot<Largest, 4>(codes, x, iset1(0)), second = dot<Largest, 4>(codes + 4, x + 16, iset1(0));
    return imap([&](int i) { return first.v[i] * multipliers[0].v[i] + second.v[i] * multipliers[1].v[i]; });
  }
  static I biased_start(const int32_t* minus_128_sums) { return iset1(*minus_128_sums); }
  static I dot_biased(const I* codes, const int8_t* x, I start) { return dot<255, 8>(codes, x, start); }
};

}  // namespace
