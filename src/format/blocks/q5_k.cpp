// Q5_K: as Q4_K with 5-bit codes. File: half d, half dmin, 12 bytes of scales and minima, 32 bytes of fifth bits (bit j
// of byte i: value i of sub-block j), 128 bytes of low codes. Panel: the first 4 words, then per sub-block 5 words of
// codes, each for 16 rows side by side. Byte t of word w has the code of value 4 w + t in its low 5 bits. The upper 3
// are, of words 0 to 2, the low bits of values 20 + 4 w + t; of words 3 and 4, the high two of values 20 + t and 24 + t
// and, on top, the fourth and the fifth bit of value 28 + t.
#include "format/blocks/blocks.h"
#include "format/fit/affine.h"

namespace terrace::format {
namespace {

unsigned code(const std::byte* block, size_t j, size_t i) {
  return (byte_at(block, 48 + j / 2 * 32 + i) >> j % 2 * 4 & 15) | (byte_at(block, 16 + i) >> j & 1) << 4;
}

void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block)), dmin = half_to_float(load<uint16_t>(block + 2));
  for (size_t j = 0; j < 8; ++j) {
    const ScaleMin packed = scale_min(block + 4, j);
    const float scale = d * packed.scale, minimum = dmin * packed.minimum;
    for (size_t i = 0; i < 32; ++i) values[32 * j + i] = scale * static_cast<float>(code(block, j, i)) - minimum;
  }
}

/// Byte t of word w of sub-block j.
unsigned code_byte(const std::byte* block, size_t j, size_t w, size_t t) {
  const auto of_quad = [&](size_t q) { return code(block, j, 4 * q + t); };
  const unsigned upper = w < 3 ? of_quad(5 + w) & 7 : of_quad(2 + w) >> 3 | (of_quad(7) >> w & 1) << 2;
  return of_quad(w) | upper << 5;
}

void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  panel = pack_words(rows, 0, 4, panel);
  for (size_t j = 0; j < 8; ++j) {
    for (size_t w = 0; w < 5; ++w)
      panel = pack_quads(rows, [&](const std::byte* row, size_t t) { return code_byte(row, j, w, t); }, panel);
  }
}

void set_deviation(std::byte* block, float deviation) {
  store(block, float_to_half(deviation / 337.0F));
  store(block + 2, float_to_half(deviation / 337.0F * 15.5F));
  std::memcpy(block + 8, block + 4, 4);  // as in Q4_K
  for (size_t i = 12; i < 16; ++i) block[i] = (block[i] & std::byte{15}) | (block[i] & std::byte{15}) << 4;
}

void store_codes(const uint8_t* codes, std::byte* block) {
  std::memset(block + 16, 0, 160);
  for (size_t j = 0; j < 8; ++j) {
    for (size_t i = 0; i < 32; ++i) {
      block[16 + i] |= static_cast<std::byte>(codes[32 * j + i] >> 4 << j);
      block[48 + j / 2 * 32 + i] |= static_cast<std::byte>((codes[32 * j + i] & 15) << j % 2 * 4);
    }
  }
}

constexpr UniformCodes kCodes = {31, lines_of_scale_mins, store_codes};

void encode(const float* values, const float* importance, std::byte* block) {
  const auto subs = cut_subs<AffineSub<32, 31>, 8>(values, importance, 32);
  const auto scales = choose_affine<63>(subs);
  store(block, float_to_half(scales.d));
  store(block + 2, float_to_half(scales.dmin));
  store_scale_mins(scales.scale, scales.minimum, block + 4);
  uint8_t codes[256];
  for (size_t n = 0; n < 256; ++n) codes[n] = static_cast<uint8_t>(subs[n / 32].code(n % 32, scales.of(n / 32)));
  store_codes(codes, block);
}

}  // namespace

const BlockCodec kQ5_KCodec = {decode, 176 * kPanelRows, pack, set_deviation, encode, &kCodes};

}  // namespace terrace::format
