// 16 lanes in 512-bit registers: AVX-512 F, BW, DQ, VL, and VNNI's integer dot product where the unit is compiled for
// it.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace {

struct Simd {
  static constexpr size_t lanes = 16;
  static constexpr size_t registers = 32;
  using F = __m512;
  using I = __m512i;

  static F set1(float x) { return _mm512_set1_ps(x); }
  static F load(const float* p) { return _mm512_loadu_ps(p); }
  static F load_half(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static F load_bf16(const uint16_t* p) {
    return _mm512_castsi512_ps(
        _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))), 16));
  }
  static void store(float* p, F x) { _mm512_storeu_ps(p, x); }
  static void store_half(uint16_t* p, F x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }
  static F add(F a, F b) { return _mm512_add_ps(a, b); }
  static F sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static F mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static F div(F a, F b) { return _mm512_div_ps(a, b); }
  static F fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static F max(F a, F b) { return _mm512_max_ps(a, b); }
  static F min(F a, F b) { return _mm512_min_ps(a, b); }
  static F abs(F a) { return _mm512_abs_ps(a); }
  static F round(F a) { return _mm512_roundscale_ps(a, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static F select_less(F a, F b, F x, F y) { return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(a, b, _CMP_LT_OQ), y, x); }
  static F scale_by_power(F x, F n) {
    const I exponent = _mm512_slli_epi32(_mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127)), 23);
    return _mm512_mul_ps(x, _mm512_castsi512_ps(exponent));
  }
  static float first(F a) { return _mm512_cvtss_f32(a); }
  static float sum16(const F* a) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(a[0]), _mm512_extractf32x8_ps(a[0], 1));
    __m128 x = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    x = _mm_add_ps(x, _mm_movehl_ps(x, x));
    return _mm_cvtss_f32(_mm_add_ss(x, _mm_movehdup_ps(x)));
  }
  static float max16(const F* a) { return _mm512_reduce_max_ps(a[0]); }

  static I words(const void* p) { return _mm512_loadu_si512(p); }
  static I iset1(int32_t x) { return _mm512_set1_epi32(x); }
  static F to_float(I a) { return _mm512_cvtepi32_ps(a); }
  static I to_int(F a) { return _mm512_cvtps_epi32(a); }
  static int32_t isum16(const I* a) { return _mm512_reduce_add_epi32(a[0]); }
  static void store_int8(int8_t* p, I a) { _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm512_cvtepi32_epi8(a)); }
  static I mask_words(I a, int32_t mask) { return _mm512_and_si512(a, _mm512_set1_epi32(mask)); }
  static I ior(I a, I b) { return _mm512_or_si512(a, b); }
  template <int Bits>
  static I right(I a) {
    return _mm512_srli_epi32(a, Bits);
  }
  template <int Bits>
  static I left(I a) {
    return _mm512_slli_epi32(a, Bits);
  }
  template <int Byte>
  static I byte_of(I a) {
    if constexpr (Byte == 0) return mask_words(a, 255);
    if constexpr (Byte == 3) return right<24>(a);
    return _mm512_shuffle_epi8(a, byte_places(static_cast<int>(0x80808000U + Byte)));
  }
  static F half_words(I a) { return _mm512_cvtph_ps(_mm512_cvtepi32_epi16(a)); }
  static I or_masked(I a, I b, int32_t mask) { return _mm512_ternarylogic_epi32(a, b, _mm512_set1_epi32(mask), 0xf8); }

  static F as_float(I a) { return _mm512_castsi512_ps(a); }
  static I iadd(I a, I b) { return _mm512_add_epi32(a, b); }
  static I isub(I a, I b) { return _mm512_sub_epi32(a, b); }
  static I ixor(I a, I b) { return _mm512_xor_si512(a, b); }
  static I negative(I a) { return _mm512_srai_epi32(a, 31); }
  static I byte_lanes(const std::byte* p) {
    return _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static I signed_byte_lanes(const std::byte* p) {
    return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
  }
  static I short_lanes(const std::byte* p) {
    return _mm512_cvtepu16_epi32(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static I multiply_low(I a, uint16_t factor) {
    return _mm512_mullo_epi16(a, _mm512_set1_epi16(static_cast<int16_t>(factor)));
  }
  static I multiply_high(I a, uint16_t factor) {
    return _mm512_mulhi_epu16(a, _mm512_set1_epi16(static_cast<int16_t>(factor)));
  }
  static I lookup(const uint8_t (&table)[16], I a) {
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(table))), a);
  }
  static I gather(const uint32_t* table, I index) { return _mm512_i32gather_epi32(index, table, 4); }
  /// The mask of quad `quad`'s signs.
  static __mmask64 sign_mask(I signs, int quad) {
    return _mm512_test_epi8_mask(signs, _mm512_set1_epi8(static_cast<char>(1 << (quad / 2 + quad % 2 * 4))));
  }
  template <int Zero>
  static I signed_codes(I magnitudes, I signs, int quad) {
    const I zero = _mm512_set1_epi8(Zero);
    return _mm512_mask_sub_epi8(_mm512_add_epi8(zero, magnitudes), sign_mask(signs, quad), zero, magnitudes);
  }

  /// The same places in each word of 4 bytes for a shuffle within 16: given those of the first word.
  static I byte_places(int first) {
    return _mm512_add_epi32(_mm512_set1_epi32(first),
                            _mm512_broadcast_i32x4(_mm_setr_epi32(0, 0x04040404, 0x08080808, 0x0c0c0c0c)));
  }
  /// A quad of activations with the signs of each lane's weights.
  static I negated(const int8_t* x, I signs, int q) {
    const I value = quad(x + 4 * q);
    return _mm512_mask_sub_epi8(value, sign_mask(signs, q), _mm512_setzero_si512(), value);
  }
  static I quad(const int8_t* x) {
    int32_t word;
    std::memcpy(&word, x, sizeof word);
    return _mm512_set1_epi32(word);
  }
#ifdef __AVX512VNNI__
  static constexpr size_t negated_rows = 1;
  template <int Largest, int Quads>
  static I dot(const I* codes, const int8_t* x, I start) {
    for (int q = 0; q < Quads; ++q) start = _mm512_dpbusd_epi32(start, codes[q], quad(x + 4 * q));
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
    const I first = dot<Largest, 4>(codes, x, _mm512_setzero_si512());
    const I second = dot<Largest, 4>(codes + 4, x + 16, _mm512_setzero_si512());
    return _mm512_dpwssd_epi32(_mm512_madd_epi16(first, multipliers[0]), second, multipliers[1]);
  }
  template <int Largest, int First, int Quads>
  static I dot_signed(const I* magnitudes, I signs, const int8_t* x) {
    I sum = _mm512_setzero_si512();
#pragma GCC unroll 8
    for (int q = First; q < First + Quads; ++q) sum = _mm512_dpbusd_epi32(sum, magnitudes[q], negated(x, signs, q));
    return sum;
  }
  static I biased_start(const int32_t* minus_128_sums) { return _mm512_set1_epi32(*minus_128_sums); }
  static I dot_biased(const I* codes, const int8_t* x, I start) { return dot<255, 8>(codes, x, start); }
#else
  static constexpr size_t negated_rows = 8;
  /// As in simd_avx2.h.
  template <int Largest>
  static constexpr int group = 32767 / (2 * Largest * 127) >= 8 ? 8 : 32767 / (2 * Largest * 127);
  template <int Largest, int Quads, class Activations>
  static I grouped_dot(const I* codes, Activations quad_of, I start) {
    static_assert(Largest <= 127, "16-bit sums of 8-bit codes overflow");
    const I ones = _mm512_set1_epi16(1);
#pragma GCC unroll 8
    for (int q = 0; q < Quads; q += group<Largest>) {
      I pairs = _mm512_maddubs_epi16(codes[q], quad_of(q));
      for (int i = q + 1; i < q + group<Largest> && i < Quads; ++i)
        pairs = _mm512_add_epi16(pairs, _mm512_maddubs_epi16(codes[i], quad_of(i)));
      start = _mm512_add_epi32(start, _mm512_madd_epi16(pairs, ones));
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
    return _mm512_shuffle_epi8(words, byte_places(static_cast<int>(0x80008000U + 0x10001 * Byte)));
  }
  template <int Largest>
  static I dot_multiplied(const I* codes, const int8_t* x, const I (&multipliers)[2]) {
    return _mm512_add_epi32(multiplied_half<Largest>(codes, x, multipliers[0]),
                            multiplied_half<Largest>(codes + 4, x + 16, multipliers[1]));
  }
  template <int Largest>
  static I multiplied_half(const I* codes, const int8_t* x, I multiplier) {
    static_assert(group<Largest> >= 4, "16-bit sums of 16 products overflow");
    I pairs = _mm512_maddubs_epi16(codes[0], quad(x));
#pragma GCC unroll 8
    for (int q = 1; q < 4; ++q) pairs = _mm512_add_epi16(pairs, _mm512_maddubs_epi16(codes[q], quad(x + 4 * q)));
    return _mm512_madd_epi16(pairs, multiplier);
  }
  template <int Largest, int First, int Quads>
  static I dot_signed(const I* magnitudes, I signs, const int8_t* x) {
    const auto signed_quad = [=](int q) { return negated(x, signs, First + q); };
    return grouped_dot<Largest, Quads>(magnitudes + First, signed_quad, _mm512_setzero_si512());
  }
  static I biased_start(const int32_t*) { return _mm512_setzero_si512(); }
  static I dot_biased(const I* codes, const int8_t* x, I start) {
    const I ones = _mm512_set1_epi16(1), bias = _mm512_set1_epi8(-128);
    for (int q = 0; q < 8; ++q) {
      const I code = _mm512_xor_si512(codes[q], bias), value = quad(x + 4 * q);
      const I signed_value = _mm512_mask_sub_epi8(value, _mm512_movepi8_mask(code), _mm512_setzero_si512(), value);
      start =
          _mm512_add_epi32(start, _mm512_madd_epi16(_mm512_maddubs_epi16(_mm512_abs_epi8(code), signed_value), ones));
    }
    return start;
  }
#endif
};

}  // namespace
