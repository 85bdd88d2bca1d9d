// Q3_K: 256 values in 16 sub-blocks of 16, value = d * (scale - 32) * (code - 4), with 6-bit scales and 3-bit codes.
// File: 32 bytes of third bits (bit n / 32 of byte n % 32 for value n), 64 bytes of low bit pairs as in Q2_K, 12 bytes
// of scales, half d. Panel: 16 halves d, 3 words of scales, then per half of 128 values 4 words of third bits and 8 of
// bit pairs, each for 16 rows side by side. The third bits of 4 values share the low nibbles of a word (quads 0..3 of
// their sub-blocks) or the high ones (quads 4..7), bit s of a nibble for sub-block s.
#include "format/blocks/blocks.h"
#include "format/fit/uniform.h"

namespace terrace::format {
namespace {

/// The low 4 bits of scale k lie in a nibble of byte k % 8, the high 2 in a bit pair of byte 8 + k % 4.
int scale_of(const std::byte* scales, size_t k) {
  return (byte_at(scales, k % 8) >> k / 8 * 4 & 15) | (byte_at(scales, 8 + k % 4) >> k / 4 * 2 & 3) << 4;
}

void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block + 108));
  for (size_t n = 0; n < 256; ++n) {
    const int low = byte_at(block, 32 + n / 128 * 32 + n % 32) >> n / 32 % 4 * 2 & 3;
    const int third = byte_at(block, n % 32) >> n / 32 & 1;
    const float scale = d * static_cast<float>(scale_of(block + 96, n / 16) - 32);
    values[n] = scale * static_cast<float>((low | third << 2) - 4);
  }
}

void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  panel = pack_words(rows, 96, 3, pack_halves(rows, 108, panel));
  for (size_t half = 0; half < 2; ++half) {
    for (size_t j = 0; j < 4; ++j) {
      const auto nibbles = [&](size_t lane) {
        const uint32_t low = load<uint32_t>(rows[lane] + 4 * j) >> 4 * half & 0x0f0f0f0f;
        const uint32_t high = load<uint32_t>(rows[lane] + 16 + 4 * j) >> 4 * half & 0x0f0f0f0f;
        return low | high << 4;
      };
      panel = pack_lanes<uint32_t>(nibbles, panel);
    }
    panel = pack_words(rows, 32 + 32 * half, 8, panel);
  }
}

void set_deviation(std::byte* block, float deviation) { store(block + 108, float_to_half(deviation / 43.3F)); }

void encode(const float* values, const float* importance, std::byte* block) {
  static constexpr auto kUnits = consecutive_units<-32, 64>();
  const auto subs = cut_subs<UniformSub<16, -4, 3>, 16>(values, importance, 16);
  const auto scales = choose_scales(subs, kUnits);
  std::memset(block, 0, 110);
  store(block + 108, float_to_half(scales.d));
  for (size_t k = 0; k < 16; ++k) {
    block[96 + k % 8] |= static_cast<std::byte>((scales.index[k] & 15) << k / 8 * 4);
    block[104 + k % 4] |= static_cast<std::byte>(scales.index[k] >> 4 << k / 4 * 2);
  }
  for (size_t n = 0; n < 256; ++n) {
    const int code = subs[n / 16].code(n % 16, scales.d * kUnits[scales.index[n / 16]]) + 4;
    block[n % 32] |= static_cast<std::byte>(code >> 2 << n / 32);
    block[32 + n / 128 * 32 + n % 32] |= static_cast<std::byte>((code & 3) << n / 32 % 4 * 2);
  }
}

}  // namespace

const BlockCodec kQ3_KCodec = {decode, 110 * kPanelRows, pack, set_deviation, encode};

}  // namespace terrace::format
