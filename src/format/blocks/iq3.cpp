// IQ3_XXS, IQ3_S: 256 values in sub-blocks of 32; quads of magnitudes from a codebook, with signs. Sources: ggml's
// block_iq3_*.
//
// IQ3_XXS: value = d * (0.5 + scale) / 2 * magnitude. File: half d, 64 byte entries, per sub-block a word with 4 times
// 7 signs (of 8 values each) and the 4-bit scale on top. IQ3_S: value = d * (1 + 2 scale) * magnitude. File: half d, 64
// low bytes of entries, 8 bytes of their ninth bits, 32 bytes of signs, 4 bytes of scales (low nibble the even
// sub-block's).
//
// Panels begin with 16 halves d. The rest lies side by side for 16 rows, signs as signs.h says.
// IQ3_XXS, per sub-block: the 2 words of entries, the signs with the scale on top.
// IQ3_S, per pair of sub-blocks: the byte of scales, and twice the byte of ninth bits, 2 words of low entry bytes, the
// signs.
#include "format/blocks/codebooks.h"
#include "format/blocks/signs.h"
#include "format/fit/grid.h"

namespace terrace::format {
namespace {

using Rows = const std::byte* const (&)[kPanelRows];

void decode_xxs(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block));
  for (size_t s = 0; s < 8; ++s) {
    const auto word = load<uint32_t>(block + 66 + 4 * s);
    const float scale = d * (0.5F + static_cast<float>(word >> 28)) * 0.5F;
    for (size_t q = 0; q < 8; ++q, values += 4) {
      const uint32_t signs = complete_signs(word >> 7 * (q / 2) & 127);
      decode_entry(kIq3XxsCodebook, byte_at(block, 2 + 8 * s + q), signs >> q % 2 * 4, scale, values);
    }
  }
}

void pack_xxs(Rows rows, std::byte* panel) {
  panel = pack_halves(rows, 0, panel);
  for (size_t s = 0; s < 8; ++s) {
    const auto word = [&](size_t lane) { return load<uint32_t>(rows[lane] + 66 + 4 * s); };
    panel = pack_words(rows, 2 + 8 * s, 2, panel);
    panel = pack_signs([&](size_t lane, size_t octet) { return word(lane) >> 7 * octet & 127; },
                       [&](size_t lane) { return word(lane) >> 28; }, panel);
  }
}

void set_xxs_deviation(std::byte* block, float deviation) { store(block, float_to_half(deviation / 141.7F)); }

void decode_s(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block));
  for (size_t q = 0; q < 64; ++q, values += 4) {
    const int scale = byte_at(block, 106 + q / 16) >> q / 8 % 2 * 4 & 15;
    const size_t entry = byte_at(block, 2 + q) | (byte_at(block, 66 + q / 8) >> q % 8 & 1) << 8;
    const uint32_t signs = byte_at(block, 74 + q / 2) >> q % 2 * 4;
    decode_entry(kIq3SCodebook, entry, signs, d * static_cast<float>(1 + 2 * scale), values);
  }
}

void pack_s(Rows rows, std::byte* panel) {
  panel = pack_halves(rows, 0, panel);
  for (size_t s = 0; s < 8; ++s) {
    if (s % 2 == 0) panel = pack_bytes(rows, 106 + s / 2, 1, panel);
    panel = pack_bytes(rows, 66 + s, 1, panel);
    panel = pack_words(rows, 2 + 8 * s, 2, panel);
    panel = pack_signs([&](size_t lane, size_t octet) { return byte_at(rows[lane], 74 + 4 * s + octet); },
                       [](size_t) { return 0; }, panel);
  }
}

void set_s_deviation(std::byte* block, float deviation) { store(block, float_to_half(deviation / 140.5F)); }

constexpr auto kXxsUnits = spaced_units<16>(0.25F, 0.5F);
constexpr auto kSUnits = spaced_units<16>(1, 2);

void encode_xxs(const float* values, const float* importance, std::byte* block) {
  const SignedGridBlock<decltype(kIq3XxsCodebook), 8, 4, 62> grid(kIq3XxsCodebook, values, importance, true);
  const auto scales = choose_scales(grid.subs(), kXxsUnits);
  store(block, float_to_half(scales.d));
  for (size_t s = 0; s < 8; ++s) {
    auto word = static_cast<uint32_t>(scales.index[s] << 28);
    for (size_t o = 0; o < 4; ++o) word |= (grid.signs(4 * s + o) & 127U) << 7 * o;
    store(block + 66 + 4 * s, word);
    const float scale = scales.d * kXxsUnits[scales.index[s]];
    for (size_t q = 0; q < 8; ++q) block[2 + 8 * s + q] = static_cast<std::byte>(grid.entry(s, q, scale));
  }
}

void encode_s(const float* values, const float* importance, std::byte* block) {
  const SignedGridBlock<decltype(kIq3SCodebook), 8, 4, 15> grid(kIq3SCodebook, values, importance, false);
  const auto scales = choose_scales(grid.subs(), kSUnits);
  std::memset(block, 0, 110);
  store(block, float_to_half(scales.d));
  for (size_t s = 0; s < 8; ++s) {
    block[106 + s / 2] |= static_cast<std::byte>(scales.index[s] << s % 2 * 4);
    for (size_t q = 0; q < 8; ++q) {
      const size_t entry = grid.entry(s, q, scales.d * kSUnits[scales.index[s]]);
      block[2 + 8 * s + q] = static_cast<std::byte>(entry);
      block[66 + s] |= static_cast<std::byte>(entry >> 8 << q);
    }
    for (size_t o = 0; o < 4; ++o) block[74 + 4 * s + o] = static_cast<std::byte>(grid.signs(4 * s + o));
  }
}

}  // namespace

const BlockCodec kIq3XxsCodec = {decode_xxs, 98 * kPanelRows, pack_xxs, set_xxs_deviation, encode_xxs};
const BlockCodec kIq3SCodec = {decode_s, 110 * kPanelRows, pack_s, set_s_deviation, encode_s};

}  // namespace terrace::format
