// Q4_K: 256 values in 8 sub-blocks of 32, value = d * scale * code - dmin * minimum, with 6-bit scales and minima.
// File: half d, half dmin, 12 bytes of scales and minima, 128 bytes of codes (32 bytes per pair of sub-blocks: the even
// one in the low nibbles). Panel: the block's 36 words, each for 16 rows side by side.
#include "format/blocks/blocks.h"
#include "format/fit/affine.h"

namespace terrace::format {
namespace {

void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block)), dmin = half_to_float(load<uint16_t>(block + 2));
  for (size_t j = 0; j < 8; ++j) {
    const ScaleMin packed = scale_min(block + 4, j);
    const float scale = d * packed.scale, minimum = dmin * packed.minimum;
    const std::byte* codes = block + 16 + j / 2 * 32;
    for (size_t i = 0; i < 32; ++i)
      values[32 * j + i] = scale * static_cast<float>(byte_at(codes, i) >> j % 2 * 4 & 15) - minimum;
  }
}

void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) { pack_words(rows, 0, 36, panel); }

void set_deviation(std::byte* block, float deviation) {
  // Scales spread evenly over 0..63: the root mean square of scale * (code - 7.5) is 36.6 * 4.61.
  store(block, float_to_half(deviation / 168.0F));
  store(block + 2, float_to_half(deviation / 168.0F * 7.5F));
  std::memcpy(block + 8, block + 4, 4);  // the minima of sub-blocks 0..3 equal their scales, which centres the values
  for (size_t i = 12; i < 16; ++i) block[i] = (block[i] & std::byte{15}) | (block[i] & std::byte{15}) << 4;
}

void store_codes(const uint8_t* codes, std::byte* block) {
  for (size_t n = 0; n < 256; n += 64) {
    for (size_t i = 0; i < 32; ++i)
      block[16 + n / 2 + i] = static_cast<std::byte>(codes[n + i] | codes[n + 32 + i] << 4);
  }
}

constexpr UniformCodes kCodes = {15, lines_of_scale_mins, store_codes};

void encode(const float* values, const float* importance, std::byte* block) {
  const auto subs = cut_subs<AffineSub<32, 15>, 8>(values, importance, 32);
  const auto scales = choose_affine<63>(subs);
  store(block, float_to_half(scales.d));
  store(block + 2, float_to_half(scales.dmin));
  store_scale_mins(scales.scale, scales.minimum, block + 4);
  uint8_t codes[256];
  for (size_t n = 0; n < 256; ++n) codes[n] = static_cast<uint8_t>(subs[n / 32].code(n % 32, scales.of(n / 32)));
  store_codes(codes, block);
}

}  // namespace

const BlockCodec kQ4_KCodec = {decode, 144 * kPanelRows, pack, set_deviation, encode, &kCodes};

}  // namespace terrace::format
