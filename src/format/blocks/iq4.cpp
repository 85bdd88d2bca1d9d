// The types of 4-bit codes into a list of 16 uneven levels: IQ4_NL and IQ4_XS. Source of the figures: ggml.
//
// IQ4_NL: 32 values d * level. File: half d, 16 bytes of codes as in Q4_0. Panel: 16 halves d, 4 code words.
// IQ4_XS: 256 values in 8 sub-blocks of 32, value = d * (scale - 32) * level. File: half d, 16 bits with the high 2
// bits of the scales, 4 bytes with their low nibbles, per sub-block 16 bytes of codes as in Q4_0. Panel: the block's 34
// words for 16 rows side by side.
#include "format/blocks/blocks.h"
#include "format/fit/uniform.h"

namespace terrace::format {
namespace {

constexpr int kLevels[16] = {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

void decode_codes(const std::byte* codes, float scale, float* values) {
  for (size_t i = 0; i < 16; ++i) {
    values[i] = scale * static_cast<float>(kLevels[byte_at(codes, i) & 15]);
    values[i + 16] = scale * static_cast<float>(kLevels[byte_at(codes, i) >> 4]);
  }
}

void decode_nl(const std::byte* block, float* values) {
  decode_codes(block + 2, half_to_float(load<uint16_t>(block)), values);
}

void pack_nl(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  pack_words(rows, 2, 4, pack_halves(rows, 0, panel));
}

void set_nl_deviation(std::byte* block, float deviation) { store(block, float_to_half(deviation / 67.5F)); }

void decode_xs(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block));
  const auto high = load<uint16_t>(block + 2);
  for (size_t s = 0; s < 8; ++s) {
    const int scale = (byte_at(block, 4 + s / 2) >> s % 2 * 4 & 15) | (high >> 2 * s & 3) << 4;
    decode_codes(block + 8 + 16 * s, d * static_cast<float>(scale - 32), values + 32 * s);
  }
}

void pack_xs(const std::byte* const (&rows)[kPanelRows], std::byte* panel) { pack_words(rows, 0, 34, panel); }

void set_xs_deviation(std::byte* block, float deviation) { store(block, float_to_half(deviation / 1250.0F)); }

struct Levels {
  static constexpr SortedLevels kSorted{kLevels};
};

template <size_t N>
using Sub = LevelSub<N, Levels>;

void encode_codes(const Sub<32>& sub, float scale, std::byte* codes) {
  for (size_t i = 0; i < 16; ++i) codes[i] = static_cast<std::byte>(sub.code(i, scale) | sub.code(i + 16, scale) << 4);
}

void encode_nl(const float* values, const float* importance, std::byte* block) {
  const Sub<32> sub{values, importance};
  const float d = half_scale(sub);
  store(block, float_to_half(d));
  encode_codes(sub, d, block + 2);
}

void encode_xs(const float* values, const float* importance, std::byte* block) {
  static constexpr auto kUnits = consecutive_units<-32, 64>();
  const auto subs = cut_subs<Sub<32>, 8>(values, importance, 32);
  const auto scales = choose_scales(subs, kUnits);
  std::memset(block, 0, 8);
  store(block, float_to_half(scales.d));
  unsigned high = 0;
  for (size_t s = 0; s < 8; ++s) {
    const auto index = static_cast<unsigned>(scales.index[s]);
    high |= index >> 4 << 2 * s;
    block[4 + s / 2] |= static_cast<std::byte>((index & 15) << s % 2 * 4);
    encode_codes(subs[s], scales.d * kUnits[index], block + 8 + 16 * s);
  }
  store(block + 2, static_cast<uint16_t>(high));
}

}  // namespace

const BlockCodec kIq4NlCodec = {decode_nl, 18 * kPanelRows, pack_nl, set_nl_deviation, encode_nl};
const BlockCodec kIq4XsCodec = {decode_xs, 136 * kPanelRows, pack_xs, set_xs_deviation, encode_xs};

}  // namespace terrace::format
