// The types with one scale and codes of one or two bits: Q1_0, Q2_0, TQ2_0. Panels: 16 halves d, then code words in
// which the codes of a quad lie at the same bits of the word's 4 bytes.
//
// Q1_0: 128 values, d or -d. File: half d, 16 bytes, bit i for value i. Panel word p, bit k of each byte: quad 4 k + p.
// Q2_0: 64 values, d * (code - 1). File: half d, 16 bytes, bits 2 i for value i. Panel word p, bits 2 k: quad 4 k + p.
// TQ2_0: 256 values, d * (code - 1). File: 64 bytes as in Q2_K, half d. Panel: the file's 16 words.
#include <cmath>

#include "format/blocks/blocks.h"
#include "format/fit/uniform.h"

namespace terrace::format {
namespace {

void decode_q1_0(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block));
  for (size_t i = 0; i < 128; ++i) values[i] = byte_at(block, 2 + i / 8) >> i % 8 & 1 ? d : -d;
}

void decode_q2_0(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block));
  for (size_t i = 0; i < 64; ++i) values[i] = d * static_cast<float>((byte_at(block, 2 + i / 4) >> i % 4 * 2 & 3) - 1);
}

void decode_tq2_0(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block + 64));
  for (size_t n = 0; n < 256; ++n)
    values[n] = d * static_cast<float>((byte_at(block, n / 128 * 32 + n % 32) >> n / 32 % 4 * 2 & 3) - 1);
}

/// Lays 16 bytes of consecutive codes out as 4 words. Code 4 q + t goes to byte t of word q % 4, place q / 4.
template <unsigned Bits>
void pack_quads(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  constexpr unsigned mask = (1U << Bits) - 1, per_byte = 8 / Bits;
  panel = pack_halves(rows, 0, panel);
  for (size_t word = 0; word < 4; ++word) {
    const auto value = [&](size_t lane) {
      uint32_t bits = 0;
      for (size_t place = 0; place < per_byte; ++place) {
        for (size_t t = 0; t < 4; ++t) {
          const size_t i = 4 * (4 * place + word) + t;
          const uint32_t code = byte_at(rows[lane], 2 + i / per_byte) >> i % per_byte * Bits & mask;
          bits |= code << (8 * t + Bits * place);
        }
      }
      return bits;
    };
    panel = pack_lanes<uint32_t>(value, panel);
  }
}

void pack_tq2_0(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  pack_words(rows, 0, 16, pack_halves(rows, 64, panel));
}

/// Turns code 2 into 0, so that random codes have the mean 1: 0 half of the time, and 1 and 3.
void centre(std::byte* codes, size_t count) {
  for (size_t i = 0; i < count; ++i)
    codes[i] = (codes[i] & std::byte{0x55}) | (codes[i] & codes[i] << 1 & std::byte{0xaa});
}

void set_q1_0_deviation(std::byte* block, float deviation) { store(block, float_to_half(deviation)); }

void set_q2_0_deviation(std::byte* block, float deviation) {
  centre(block + 2, 16);
  store(block, float_to_half(deviation / 1.225F));
}

void set_tq2_0_deviation(std::byte* block, float deviation) {
  centre(block, 64);
  store(block + 64, float_to_half(deviation / 1.225F));
}

void encode_q1_0(const float* values, const float* importance, std::byte* block) {
  float weighted = 0, weights = 0;
  std::memset(block, 0, 18);
  for (size_t i = 0; i < 128; ++i) {
    weighted += importance[i] * std::fabs(values[i]);
    weights += importance[i];
    if (values[i] >= 0) block[2 + i / 8] |= static_cast<std::byte>(1U << i % 8);
  }
  store(block, float_to_half(nearest_half(weighted / weights)));
}

void encode_q2_0(const float* values, const float* importance, std::byte* block) {
  const UniformSub<64, -1, 2> sub{values, importance};
  const float d = half_scale(sub);
  std::memset(block, 0, 18);
  store(block, float_to_half(d));
  for (size_t i = 0; i < 64; ++i) block[2 + i / 4] |= static_cast<std::byte>((sub.code(i, d) + 1) << i % 4 * 2);
}

void encode_tq2_0(const float* values, const float* importance, std::byte* block) {
  const UniformSub<256, -1, 1> sub{values, importance};
  const float d = half_scale(sub);
  std::memset(block, 0, 66);
  store(block + 64, float_to_half(d));
  for (size_t n = 0; n < 256; ++n)
    block[n / 128 * 32 + n % 32] |= static_cast<std::byte>((sub.code(n, d) + 1) << n / 32 % 4 * 2);
}

}  // namespace

const BlockCodec kQ1_0Codec = {decode_q1_0, 18 * kPanelRows, pack_quads<1>, set_q1_0_deviation, encode_q1_0};
const BlockCodec kQ2_0Codec = {decode_q2_0, 18 * kPanelRows, pack_quads<2>, set_q2_0_deviation, encode_q2_0};
const BlockCodec kTq2_0Codec = {decode_tq2_0, 66 * kPanelRows, pack_tq2_0, set_tq2_0_deviation, encode_tq2_0};

}  // namespace terrace::format
