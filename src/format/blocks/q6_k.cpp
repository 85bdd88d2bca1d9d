// Q6_K: 256 values in 16 sub-blocks of 16, value = d * scale * (code - 32), scale signed 8 bits.
// File: 128 bytes of low nibbles, 64 bytes of high bit pairs, 16 scales, half d. Per half of 128 values, value 32 s + i
// has its low nibble in byte 32 (s & 1) + i (high nibble for s > 1) and its high bits at bit 2 s of byte i. Panel: 16
// halves d, the 16 scales as bytes of 16 rows, then per 16 values 3 words of codes, each for 16 rows side by side. Byte
// t of the words holds the codes of values t, 4 + t and 8 + t in its low bits; the upper 2 bits together are the code
// of value 12 + t.
#include "format/blocks/blocks.h"
#include "format/fit/uniform.h"

namespace terrace::format {
namespace {

unsigned code(const std::byte* block, size_t n) {
  const size_t half = n / 128, s = n / 32 % 4, i = n % 32;
  const unsigned low = byte_at(block, 64 * half + 32 * (s & 1) + i) >> (s >> 1) * 4 & 15;
  const unsigned high = byte_at(block, 128 + 32 * half + i) >> 2 * s & 3;
  return low | high << 4;
}

void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block + 208));
  for (size_t n = 0; n < 256; ++n) {
    const auto scale = static_cast<int8_t>(byte_at(block, 192 + n / 16));
    values[n] = d * static_cast<float>(scale) * static_cast<float>(static_cast<int>(code(block, n)) - 32);
  }
}

/// Byte t of word w of the 16 values from n on.
unsigned code_byte(const std::byte* block, size_t n, size_t w, size_t t) {
  return code(block, n + 4 * w + t) | (code(block, n + 12 + t) >> 2 * w & 3) << 6;
}

void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  panel = pack_halves(rows, 208, panel);
  panel = pack_bytes(rows, 192, 16, panel);
  for (size_t n = 0; n < 256; n += 16) {
    for (size_t w = 0; w < 3; ++w)
      panel = pack_quads(rows, [&](const std::byte* row, size_t t) { return code_byte(row, n, w, t); }, panel);
  }
}

void set_deviation(std::byte* block, float deviation) { store(block + 208, float_to_half(deviation / 1365.0F)); }

void store_codes(const uint8_t* codes, std::byte* block) {
  std::memset(block, 0, 192);
  for (size_t n = 0; n < 256; ++n) {
    const size_t half = n / 128, s = n / 32 % 4, i = n % 32;
    block[64 * half + 32 * (s & 1) + i] |= static_cast<std::byte>((codes[n] & 15) << (s >> 1) * 4);
    block[128 + 32 * half + i] |= static_cast<std::byte>(codes[n] >> 4 << 2 * s);
  }
}

void lines(const std::byte* block, Line* of_value) {
  const float d = half_to_float(load<uint16_t>(block + 208));
  for (size_t k = 0; k < 16; ++k) {
    const float step = d * static_cast<float>(static_cast<int8_t>(byte_at(block, 192 + k)));
    std::fill_n(of_value + 16 * k, 16, Line{step, -32 * step});
  }
}

constexpr UniformCodes kCodes = {63, lines, store_codes};

void encode(const float* values, const float* importance, std::byte* block) {
  static constexpr auto kUnits = consecutive_units<-128, 256>();
  const auto subs = cut_subs<UniformSub<16, -32, 31>, 16>(values, importance, 16);
  const auto scales = choose_scales(subs, kUnits);
  store(block + 208, float_to_half(scales.d));
  for (size_t k = 0; k < 16; ++k) block[192 + k] = static_cast<std::byte>(static_cast<int>(scales.index[k]) - 128);
  uint8_t codes[256];
  for (size_t n = 0; n < 256; ++n)
    codes[n] = static_cast<uint8_t>(subs[n / 16].code(n % 16, scales.d * kUnits[scales.index[n / 16]]) + 32);
  store_codes(codes, block);
}

}  // namespace

const BlockCodec kQ6_KCodec = {decode, 210 * kPanelRows, pack, set_deviation, encode, &kCodes};

}  // namespace terrace::format
