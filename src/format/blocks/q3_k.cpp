// Q3_K: 256 values in 16 sub-blocks of 16, value = d * (scale - 32) * (code - 4), with 6-bit scales and 3-bit codes.
// File: 32 bytes of third bits (bit n / 32 of byte n % 32 for value n), 64 bytes of low bit pairs as in Q2_K, 12 bytes
// of scales, half d. Panel: 16 halves d, 3 words of scales, then per 32 values 3 words of codes, each for 16 rows side
// by side. With quad q the values 4 q to 4 q + 3, one in each byte, the words hold, from the lowest bits of the bytes
// on: quads 0, 1 and the low 2 bits of 6; quads 2, 3 and the low 2 bits of 7; quads 4, 5 and the third bits of 6 and 7.
#include "format/blocks/blocks.h"
#include "format/fit/uniform.h"

namespace terrace::format {
namespace {

/// The low 4 bits of scale k lie in a nibble of byte k % 8, the high 2 in a bit pair of byte 8 + k % 4.
int scale_of(const std::byte* scales, size_t k) {
  return (byte_at(scales, k % 8) >> k / 8 * 4 & 15) | (byte_at(scales, 8 + k % 4) >> k / 4 * 2 & 3) << 4;
}

unsigned code(const std::byte* block, size_t n) {
  const unsigned low = byte_at(block, 32 + n / 128 * 32 + n % 32) >> n / 32 % 4 * 2 & 3;
  const unsigned third = byte_at(block, n % 32) >> n / 32 & 1;
  return low | third << 2;
}

void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block + 108));
  for (size_t n = 0; n < 256; ++n) {
    const float scale = d * static_cast<float>(scale_of(block + 96, n / 16) - 32);
    values[n] = scale * static_cast<float>(static_cast<int>(code(block, n)) - 4);
  }
}

/// Byte t of word w of the 32 values from n on.
unsigned code_byte(const std::byte* block, size_t n, size_t w, size_t t) {
  const auto of_quad = [&](size_t q) { return code(block, n + 4 * q + t); };
  const unsigned two = of_quad(2 * w) | of_quad(2 * w + 1) << 3;
  return w < 2 ? two | (of_quad(6 + w) & 3) << 6 : two | of_quad(6) >> 2 << 6 | of_quad(7) >> 2 << 7;
}

void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  panel = pack_words(rows, 96, 3, pack_halves(rows, 108, panel));
  for (size_t n = 0; n < 256; n += 32) {
    for (size_t w = 0; w < 3; ++w)
      panel = pack_quads(rows, [&](const std::byte* row, size_t t) { return code_byte(row, n, w, t); }, panel);
  }
}

void set_deviation(std::byte* block, float deviation) { store(block + 108, float_to_half(deviation / 43.3F)); }

void store_codes(const uint8_t* codes, std::byte* block) {
  std::memset(block, 0, 96);
  for (size_t n = 0; n < 256; ++n) {
    block[n % 32] |= static_cast<std::byte>(codes[n] >> 2 << n / 32);
    block[32 + n / 128 * 32 + n % 32] |= static_cast<std::byte>((codes[n] & 3) << n / 32 % 4 * 2);
  }
}

void lines(const std::byte* block, Line* of_value) {
  const float d = half_to_float(load<uint16_t>(block + 108));
  for (size_t k = 0; k < 16; ++k) {
    const float step = d * static_cast<float>(scale_of(block + 96, k) - 32);
    std::fill_n(of_value + 16 * k, 16, Line{step, -4 * step});
  }
}

constexpr UniformCodes kCodes = {7, lines, store_codes};

void encode(const float* values, const float* importance, std::byte* block) {
  static constexpr auto kUnits = consecutive_units<-32, 64>();
  const auto subs = cut_subs<UniformSub<16, -4, 3>, 16>(values, importance, 16);
  const auto scales = choose_scales(subs, kUnits);
  std::memset(block + 96, 0, 12);
  store(block + 108, float_to_half(scales.d));
  for (size_t k = 0; k < 16; ++k) {
    block[96 + k % 8] |= static_cast<std::byte>((scales.index[k] & 15) << k / 8 * 4);
    block[104 + k % 4] |= static_cast<std::byte>(scales.index[k] >> 4 << k / 4 * 2);
  }
  uint8_t codes[256];
  for (size_t n = 0; n < 256; ++n)
    codes[n] = static_cast<uint8_t>(subs[n / 16].code(n % 16, scales.d * kUnits[scales.index[n / 16]]) + 4);
  store_codes(codes, block);
}

}  // namespace

const BlockCodec kQ3_KCodec = {decode, 110 * kPanelRows, pack, set_deviation, encode, &kCodes};

}  // namespace terrace::format
