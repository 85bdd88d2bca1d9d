// Q2_K: 256 values in 16 sub-blocks of 16, value = d * scale * code - dmin * minimum, with 4-bit scales and minima.
// File: 16 bytes (low nibble scale, high nibble minimum), 64 bytes of 2-bit codes, half d, half dmin. Per half of 128
// values, value 32 s + i has its code at bit 2 s of byte i. Panel: the word of d and dmin, 4 words of scales, 16 code
// words, each for 16 rows side by side.
#include "format/blocks/blocks.h"
#include "format/fit/affine.h"

namespace terrace::format {
namespace {

void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block + 80)), dmin = half_to_float(load<uint16_t>(block + 82));
  for (size_t n = 0; n < 256; ++n) {
    const int code = byte_at(block, 16 + n / 128 * 32 + n % 32) >> n / 32 % 4 * 2 & 3;
    const int packed = byte_at(block, n / 16);
    const float scale = d * static_cast<float>(packed & 15), minimum = dmin * static_cast<float>(packed >> 4);
    values[n] = scale * static_cast<float>(code) - minimum;
  }
}

void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  pack_words(rows, 0, 20, pack_words(rows, 80, 1, panel));
}

void set_deviation(std::byte* block, float deviation) {
  // The minima equal the scales, which centres the values.
  for (size_t i = 0; i < 16; ++i) block[i] = (block[i] & std::byte{15}) | (block[i] & std::byte{15}) << 4;
  store(block + 80, float_to_half(deviation / 9.84F));
  store(block + 82, float_to_half(deviation / 9.84F * 1.5F));
}

void store_codes(const uint8_t* codes, std::byte* block) {
  std::memset(block + 16, 0, 64);
  for (size_t n = 0; n < 256; ++n)
    block[16 + n / 128 * 32 + n % 32] |= static_cast<std::byte>(codes[n] << n / 32 % 4 * 2);
}

void lines(const std::byte* block, Line* of_value) {
  const float d = half_to_float(load<uint16_t>(block + 80)), dmin = half_to_float(load<uint16_t>(block + 82));
  for (size_t j = 0; j < 16; ++j) {
    const int packed = byte_at(block, j);
    const Line line{d * static_cast<float>(packed & 15), -dmin * static_cast<float>(packed >> 4)};
    std::fill_n(of_value + 16 * j, 16, line);
  }
}

constexpr UniformCodes kCodes = {3, lines, store_codes};

void encode(const float* values, const float* importance, std::byte* block) {
  using Sub = AffineSub<16, 3>;
  const auto subs = cut_subs<Sub, 16>(values, importance, 16);
  const auto scales = choose_affine<15>(subs);
  store(block + 80, float_to_half(scales.d));
  store(block + 82, float_to_half(scales.dmin));
  for (size_t j = 0; j < 16; ++j) block[j] = static_cast<std::byte>(scales.scale[j] | scales.minimum[j] << 4);
  uint8_t codes[256];
  for (size_t n = 0; n < 256; ++n) codes[n] = static_cast<uint8_t>(subs[n / 16].code(n % 16, scales.of(n / 16)));
  store_codes(codes, block);
}

}  // namespace

const BlockCodec kQ2_KCodec = {decode, 84 * kPanelRows, pack, set_deviation, encode, &kCodes};

}  // namespace terrace::format
