// 8 lanes in 256-bit registers: AVX2 with FMA and F16C, and AVX-VNNI's integer dot product where the unit is compiled
// for it.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

struct Simd {
  static constexpr size_t lanes = 8;
  static constexpr size_t registers = 16;
  using F = __m256;
  using I = __m256i;

  static F set1(float x) { return _mm256_set1_ps(x); }
  static F load(const float* p) { return _mm256_loadu_ps(p); }
  static F load_half(const uint16_t* p) {
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static F load_bf16(const uint16_t* p) {
    return _mm256_castsi256_ps(
        _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))), 16));
  }
  static void store(float* p, F x) { _mm256_storeu_ps(p, x); }
  static void store_half(uint16_t* p, F x) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm256_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  static F add(F a, F b) { return _mm256_add_ps(a, b); }
  static F sub(F a, F b) { return _mm256_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm256_mul_ps(a, b); }
  static F div(F a, F b) { return _mm256_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm256_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm256_max_ps(a, b); }
  static F min(F a, F b) { return _mm256_min_ps(a, b); }
  static F abs(F a) { return _mm256_andnot_ps(_mm256_set1_ps(-0.0F), a); }
  static F round(F a) { return _mm256_round_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F select_less(F a, F b, F x, F y) { return _mm256_blendv_ps(y, x, _mm256_cmp_ps(a, b, _CMP_LT_OQ)); }
  static F scale_by_power(F x, F n) {
    const I exponent = _mm256_slli_epi32(_mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127)), 23);
    return _mm256_mul_ps(x, _mm256_castsi256_ps(exponent));
  }
  static float first(F a) { return _mm256_cvtss_f32(a); }
  static float sum16(const F* a) {
    const F eight = _mm256_add_ps(a[0], a[1]);
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
  static float max16(const F* a) {
    const F eight = _mm256_max_ps(a[0], a[1]);
    __m128 x = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    x = _mm_max_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_max_ss(x, _mm_movehdup_ps(x)));
  }

  static I words(const void* p) { return _mm256_loadu_si256(static_cast<const I*>(p)); }
  static I iset1(int32_t x) { return _mm256_set1_epi32(x); }
  static F to_float(I a) { return _mm256_cvtepi32_ps(a); }
  static I to_int(F a) { return _mm256_cvtps_epi32(a); }
  static int32_t isum16(const I* a) {
    const I eight = _mm256_add_epi32(a[0], a[1]);
    __m128i x = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
    x = _mm_add_epi32(x, _mm_shuffle_epi32(x, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(x, _mm_shuffle_epi32(x, 0xb1)));
  }
  static void store_int8(int8_t* p, I a) {
    const __m128i low = _mm_shuffle_epi8(_mm256_castsi256_si128(a), _mm_set1_epi32(0x0c080400));
    const __m128i high = _mm_shuffle_epi8(_mm256_extracti128_si256(a, 1), _mm_set1_epi32(0x0c080400));
    const int32_t both[2] = {_mm_cvtsi128_si32(low), _mm_cvtsi128_si32(high)};
    std::memcpy(p, both, sizeof both);
  }
  static I mask_words(I a, int32_t mask) { return _mm256_and_si256(a, _mm256_set1_epi32(mask)); }
  static I ior(I a, I b) { return _mm256_or_si256(a, b); }
  template <int Bits>
  static I right(I a) {
    return _mm256_srli_epi32(a, Bits);
  }
  template <int Bits>
  static I left(I a) {
    return _mm256_slli_epi32(a, Bits);
  }
  template <int Byte>
  static I byte_of(I a) {
    if constexpr (Byte == 0) return mask_words(a, 255);
    if constexpr (Byte == 3) return right<24>(a);
    return _mm256_shuffle_epi8(a, byte_places(static_cast<int>(0x80808000U + Byte)));
  }
  static F half_words(I a) {
    const I low = _mm256_and_si256(a, _mm256_set1_epi32(0xffff));
    return _mm256_cvtph_ps(_mm_packus_epi32(_mm256_castsi256_si128(low), _mm256_extracti128_si256(low, 1)));
  }
  static I or_masked(I a, I b, int32_t mask) { return _mm256_or_si256(a, mask_words(b, mask)); }

  static F as_float(I a) { return _mm256_castsi256_ps(a); }
  static I iadd(I a, I b) { return _mm256_add_epi32(a, b); }
  static I isub(I a, I b) { return _mm256_sub_epi32(a, b); }
  static I ixor(I a, I b) { return _mm256_xor_si256(a, b); }
  static I negative(I a) { return _mm256_srai_epi32(a, 31); }
  static I byte_lanes(const std::byte* p) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static I signed_byte_lanes(const std::byte* p) {
    return _mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
  }
  static I short_lanes(const std::byte* p) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static I multiply_low(I a, uint16_t factor) {
    return _mm256_mullo_epi16(a, _mm256_set1_epi16(static_cast<int16_t>(factor)));
  }
  static I multiply_high(I a, uint16_t factor) {
    return _mm256_mulhi_epu16(a, _mm256_set1_epi16(static_cast<int16_t>(factor)));
  }
  static I lookup(const uint8_t (&table)[16], I a) {
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))),
                               a);
  }
  static I gather(const uint32_t* table, I index) {
    return _mm256_i32gather_epi32(reinterpret_cast<const int*>(table), index, 4);
  }
  /// Bytes of any size, negative where quad `quad`'s signs are, none of them 0.
  static I sign_bytes(I signs, int quad) {
    return _mm256_or_si256(_mm256_slli_epi32(signs, 7 - (quad / 2 + quad % 2 * 4)), _mm256_set1_epi8(1));
  }
  template <int Zero>
  static I signed_codes(I magnitudes, I signs, int quad) {
    return _mm256_add_epi8(_mm256_sign_epi8(magnitudes, sign_bytes(signs, quad)), _mm256_set1_epi8(Zero));
  }
  /// Up to how many rows of activations take the signs of weights: fewer operations than signed codes if it is few.
  static constexpr size_t negated_rows = 4;

  static I quad(const int8_t* x) {
    int32_t word;
    std::memcpy(&word, x, sizeof word);
    return _mm256_set1_epi32(word);
  }
  /// The same places in each word of 4 bytes for a shuffle within 16: given those of the first word.
  static I byte_places(int first) {
    return _mm256_add_epi32(_mm256_set1_epi32(first),
                            _mm256_broadcastsi128_si256(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c)));
  }
#ifdef __AVXVNNI__
  template <int Largest, int Quads>
  static I dot(const I* codes, const int8_t* x, I start) {
    for (int q = 0; q < Quads; ++q) start = _mm256_dpbusd_avx_epi32(start, codes[q], quad(x + 4 * q));
    return start;
  }
  /// Byte `Byte` of each word as 16 bits, the upper 16 being 0: what 16-bit products take.
  template <int Byte>
  static I multiplier(I words) {
    return byte_of<Byte>(words);
  }
  template <int Largest>
  static I dot_multiplied(const I* codes, const int8_t* x, const I (&multipliers)[2]) {
    static_assert(16 * Largest * 127 <= 32767, "16-bit products");
    const I first = dot<Largest, 4>(codes, x, _mm256_setzero_si256());
    const I second = dot<Largest, 4>(codes + 4, x + 16, _mm256_setzero_si256());
    return _mm256_dpwssd_avx_epi32(_mm256_madd_epi16(first, multipliers[0]), second, multipliers[1]);
  }
  template <int Largest, int First, int Quads>
  static I dot_signed(const I* magnitudes, I signs, const int8_t* x) {
    I sum = _mm256_setzero_si256();
#pragma GCC unroll 8
    for (int q = First; q < First + Quads; ++q)
      sum = _mm256_dpbusd_avx_epi32(sum, magnitudes[q], _mm256_sign_epi8(quad(x + 4 * q), sign_bytes(signs, q)));
    return sum;
  }
  static I biased_start(const int32_t* minus_128_sums) { return _mm256_set1_epi32(*minus_128_sums); }
  static I dot_biased(const I* codes, const int8_t* x, I start) { return dot<255, 8>(codes, x, start); }
#else
  /// How many products of codes up to Largest a 16-bit lane holds: pairs are at most 2 * Largest * 127.
  template <int Largest>
  static constexpr int group = 32767 / (2 * Largest * 127) >= 8 ? 8 : 32767 / (2 * Largest * 127);
  template <int Largest, int Quads, class Activations>
  static I grouped_dot(const I* codes, Activations quad_of, I start) {
    static_assert(Largest <= 127, "16-bit sums of 8-bit codes overflow");
    const I ones = _mm256_set1_epi16(1);
#pragma GCC unroll 8
    for (int q = 0; q < Quads; q += group<Largest>) {
      I pairs = _mm256_maddubs_epi16(codes[q], quad_of(q));
      for (int i = q + 1; i < q + group<Largest> && i < Quads; ++i)
        pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(codes[i], quad_of(i)));
      start = _mm256_add_epi32(start, _mm256_madd_epi16(pairs, ones));
    }
    return start;
  }
  template <int Largest, int Quads>
  static I dot(const I* codes, const int8_t* x, I start) {
    return grouped_dot<Largest, Quads>(codes, [=](int q) { return quad(x + 4 * q); }, start);
  }
  /// Byte `Byte` of each word as 16 bits, twice.
  template <int Byte>
  static I multiplier(I words) {
    return _mm256_shuffle_epi8(words, byte_places(static_cast<int>(0x80008000U + 0x10001 * Byte)));
  }
  template <int Largest>
  static I dot_multiplied(const I* codes, const int8_t* x, const I (&multipliers)[2]) {
    return _mm256_add_epi32(multiplied_half<Largest>(codes, x, multipliers[0]),
                            multiplied_half<Largest>(codes + 4, x + 16, multipliers[1]));
  }
  template <int Largest>
  static I multiplied_half(const I* codes, const int8_t* x, I multiplier) {
    static_assert(group<Largest> >= 4, "16-bit sums of 16 products overflow");
    I pairs = _mm256_maddubs_epi16(codes[0], quad(x));
#pragma GCC unroll 8
    for (int q = 1; q < 4; ++q) pairs = _mm256_add_epi16(pairs, _mm256_maddubs_epi16(codes[q], quad(x + 4 * q)));
    return _mm256_madd_epi16(pairs, multiplier);
  }
  template <int Largest, int First, int Quads>
  static I dot_signed(const I* magnitudes, I signs, const int8_t* x) {
    const auto signed_quad = [=](int q) {
      return _mm256_sign_epi8(quad(x + 4 * (First + q)), sign_bytes(signs, First + q));
    };
    return grouped_dot<Largest, Quads>(magnitudes + First, signed_quad, _mm256_setzero_si256());
  }
  /// Codes are made signed again here, which needs no offset: |code| <= 128 times 127, twice, fits in 16 bits.
  static I biased_start(const int32_t*) { return _mm256_setzero_si256(); }
  static I dot_biased(const I* codes, const int8_t* x, I start) {
    const I ones = _mm256_set1_epi16(1), bias = _mm256_set1_epi8(-128);
    for (int q = 0; q < 8; ++q) {
      const I code = _mm256_xor_si256(codes[q], bias);
      const I pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(code), _mm256_sign_epi8(quad(x + 4 * q), code));
      start = _mm256_add_epi32(start, _mm256_madd_epi16(pairs, ones));
    }
    return start;
  }
#endif
};

}  // namespace
