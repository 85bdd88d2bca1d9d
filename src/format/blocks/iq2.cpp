// IQ2_XXS, IQ2_XS, IQ2_S: 256 values in sub-blocks of 32; octets of magnitudes from a codebook, with signs. Value =
// d * (0.5 + scale) / 4 * magnitude. Sources: ggml's block_iq2_*.
//
// IQ2_XXS file: half d, per sub-block 4 byte entries and a word with 4 times 7 signs and the 4-bit scale on top.
// IQ2_XS file: half d, 32 words of 9 bits entry and 7 signs, 8 bytes of scales (low nibble: 16 values, high: the next).
// IQ2_S file: half d, 32 low bytes of entries, 32 bytes of signs, 8 bytes of high entry bits (2 each), 8 of scales.
//
// Panels begin with 16 halves d. Then per sub-block, side by side for 16 rows, signs as signs.h says:
// IQ2_XXS: the word of entries, the signs with the scale on top.
// IQ2_XS: the byte of scales, the word of low entry bytes, the signs with the entries' ninth bits on top.
// IQ2_S: the byte of scales, the byte of high entry bits, the word of low entry bytes, the signs.
#include "format/blocks/codebooks.h"
#include "format/blocks/signs.h"
#include "format/fit/grid.h"

namespace terrace::format {
namespace {

using Rows = const std::byte* const (&)[kPanelRows];

float scale_of(const std::byte* block, int scale) {
  return half_to_float(load<uint16_t>(block)) * (0.5F + static_cast<float>(scale)) * 0.25F;
}

void decode_xxs(const std::byte* block, float* values) {
  for (size_t s = 0; s < 8; ++s) {
    const auto word = load<uint32_t>(block + 6 + 8 * s);
    const float scale = scale_of(block, static_cast<int>(word >> 28));
    for (size_t o = 0; o < 4; ++o, values += 8) {
      decode_entry(kIq2XxsCodebook, byte_at(block, 2 + 8 * s + o), complete_signs(word >> 7 * o & 127), scale, values);
    }
  }
}

void pack_xxs(Rows rows, std::byte* panel) {
  panel = pack_halves(rows, 0, panel);
  for (size_t s = 0; s < 8; ++s) {
    const auto word = [&](size_t lane) { return load<uint32_t>(rows[lane] + 6 + 8 * s); };
    panel = pack_words(rows, 2 + 8 * s, 1, panel);
    panel = pack_signs([&](size_t lane, size_t octet) { return word(lane) >> 7 * octet & 127; },
                       [&](size_t lane) { return word(lane) >> 28; }, panel);
  }
}

void decode_xs(const std::byte* block, float* values) {
  for (size_t o = 0; o < 32; ++o, values += 8) {
    const auto word = load<uint16_t>(block + 2 + 2 * o);
    const float scale = scale_of(block, byte_at(block, 66 + o / 4) >> o / 2 % 2 * 4 & 15);
    decode_entry(kIq2XsCodebook, word & 511, complete_signs(word >> 9), scale, values);
  }
}

void pack_xs(Rows rows, std::byte* panel) {
  panel = pack_halves(rows, 0, panel);
  for (size_t s = 0; s < 8; ++s) {
    const auto word = [&](size_t lane, size_t o) { return uint32_t{load<uint16_t>(rows[lane] + 2 + 8 * s + 2 * o)}; };
    const auto collect = [&](size_t lane, unsigned shift, unsigned mask, unsigned width) {
      uint32_t bits = 0;
      for (size_t o = 0; o < 4; ++o) bits |= (word(lane, o) >> shift & mask) << width * o;
      return bits;
    };
    panel = pack_bytes(rows, 66 + s, 1, panel);
    panel = pack_lanes<uint32_t>([&](size_t lane) { return collect(lane, 0, 255, 8); }, panel);
    panel = pack_signs([&](size_t lane, size_t octet) { return word(lane, octet) >> 9; },
                       [&](size_t lane) { return collect(lane, 8, 1, 1); }, panel);
  }
}

void decode_s(const std::byte* block, float* values) {
  for (size_t o = 0; o < 32; ++o, values += 8) {
    const int high = byte_at(block, 66 + o / 4) >> o % 4 * 2 & 3;
    const float scale = scale_of(block, byte_at(block, 74 + o / 4) >> o / 2 % 2 * 4 & 15);
    decode_entry(kIq2SCodebook, byte_at(block, 2 + o) | high << 8, byte_at(block, 34 + o), scale, values);
  }
}

void pack_s(Rows rows, std::byte* panel) {
  panel = pack_halves(rows, 0, panel);
  for (size_t s = 0; s < 8; ++s) {
    panel = pack_bytes(rows, 66 + s, 1, pack_bytes(rows, 74 + s, 1, panel));
    panel = pack_words(rows, 2 + 4 * s, 1, panel);
    panel = pack_signs([&](size_t lane, size_t octet) { return byte_at(rows[lane], 34 + 4 * s + octet); },
                       [](size_t) { return 0; }, panel);
  }
}

template <int Thousandths>
void set_deviation(std::byte* block, float deviation) {
  store(block, float_to_half(deviation * 1000 / Thousandths));
}

constexpr auto kUnits = spaced_units<16>(0.125F, 0.25F);
constexpr int kFar = 43;

void encode_xxs(const float* values, const float* importance, std::byte* block) {
  const SignedGridBlock<decltype(kIq2XxsCodebook), 8, 4, kFar> grid(kIq2XxsCodebook, values, importance, true);
  const auto scales = choose_scales(grid.subs(), kUnits);
  store(block, float_to_half(scales.d));
  for (size_t s = 0; s < 8; ++s) {
    auto word = static_cast<uint32_t>(scales.index[s] << 28);
    for (size_t o = 0; o < 4; ++o) {
      word |= (grid.signs(4 * s + o) & 127U) << 7 * o;
      block[2 + 8 * s + o] = static_cast<std::byte>(grid.entry(s, o, scales.d * kUnits[scales.index[s]]));
    }
    store(block + 6 + 8 * s, word);
  }
}

/// Writes the scales of 16 subs as 8 bytes.
void store_scales(const Scales<16>& scales, std::byte* bytes) {
  for (size_t s = 0; s < 8; ++s) bytes[s] = static_cast<std::byte>(scales.index[2 * s] | scales.index[2 * s + 1] << 4);
}

void encode_xs(const float* values, const float* importance, std::byte* block) {
  const SignedGridBlock<decltype(kIq2XsCodebook), 16, 2, kFar> grid(kIq2XsCodebook, values, importance, true);
  const auto scales = choose_scales(grid.subs(), kUnits);
  store(block, float_to_half(scales.d));
  store_scales(scales, block + 66);
  for (size_t o = 0; o < 32; ++o) {
    const size_t entry = grid.entry(o / 2, o % 2, scales.d * kUnits[scales.index[o / 2]]);
    store(block + 2 + 2 * o, static_cast<uint16_t>(entry | (grid.signs(o) & 127U) << 9));
  }
}

void encode_s(const float* values, const float* importance, std::byte* block) {
  const SignedGridBlock<decltype(kIq2SCodebook), 16, 2, kFar> grid(kIq2SCodebook, values, importance, false);
  const auto scales = choose_scales(grid.subs(), kUnits);
  std::memset(block, 0, 82);
  store(block, float_to_half(scales.d));
  store_scales(scales, block + 74);
  for (size_t o = 0; o < 32; ++o) {
    const size_t entry = grid.entry(o / 2, o % 2, scales.d * kUnits[scales.index[o / 2]]);
    block[2 + o] = static_cast<std::byte>(entry);
    block[34 + o] = static_cast<std::byte>(grid.signs(o));
    block[66 + o / 4] |= static_cast<std::byte>(entry >> 8 << o % 4 * 2);
  }
}

}  // namespace

const BlockCodec kIq2XxsCodec = {decode_xxs, 66 * kPanelRows, pack_xxs, set_deviation<53500>, encode_xxs};
const BlockCodec kIq2XsCodec = {decode_xs, 74 * kPanelRows, pack_xs, set_deviation<55900>, encode_xs};
const BlockCodec kIq2SCodec = {decode_s, 82 * kPanelRows, pack_s, set_deviation<56300>, encode_s};

}  // namespace terrace::format
