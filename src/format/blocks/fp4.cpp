// The types of 4-bit floats: MXFP4 and NVFP4. Codes are a sign (bit 3) and one of 8 magnitudes.
//
// MXFP4: 32 values, value = 2^(e - 128) * level (the levels are doubled, so that they are integers). File: byte e, 16
// bytes of codes as in Q4_0. Panel: 16 bytes e, 4 code words.
// NVFP4: 64 values in 4 sub-blocks of 16, value = scale / 2 * level, scale an unsigned float of 4 exponent and 3
// fraction bits. File: 4 scales, per sub-block 8 bytes of codes (byte i: value i low, value i + 8 high). Panel: the
// block's 9 words for 16 rows side by side, with scales of 0x7f, which count as 0, made 0.
#include <cmath>

#include "format/blocks/blocks.h"
#include "format/fit/uniform.h"

namespace terrace::format {
namespace {

constexpr int kLevels[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
constexpr float kRootMeanSquare = 5.852F;  // of the levels

void decode_mxfp4(const std::byte* block, float* values) {
  const int exponent = byte_at(block, 0);
  const float d = std::ldexp(1.0F, exponent - 128);
  for (size_t i = 0; i < 16; ++i) {
    const int codes = byte_at(block, 1 + i);
    values[i] = d * static_cast<float>(kLevels[codes & 15]);
    values[i + 16] = d * static_cast<float>(kLevels[codes >> 4]);
  }
}

void pack_mxfp4(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  pack_words(rows, 1, 4, pack_bytes(rows, 0, 1, panel));
}

/// Scales are powers of two: the one below the wanted scale and, in a share of the blocks, the one above.
void set_mxfp4_deviation(std::byte* block, float deviation) {
  int exponent;
  const float fraction = 2 * std::frexp(deviation / kRootMeanSquare, &exponent);  // 1..2, times 2^(exponent - 1)
  const float share = (fraction * fraction - 1) / 3;
  const int above = static_cast<float>(byte_at(block, 0)) < 256 * share ? 1 : 0;
  store(block, static_cast<uint8_t>(exponent - 1 + above + 128));
}

float nvfp4_scale(uint8_t bits) {
  if (bits == 0x7f) return 0;
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  return exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                       : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
}

void decode_nvfp4(const std::byte* block, float* values) {
  for (size_t s = 0; s < 4; ++s, values += 16) {
    const float d = nvfp4_scale(byte_at(block, s)) * 0.5F;
    for (size_t i = 0; i < 8; ++i) {
      const int codes = byte_at(block, 4 + 8 * s + i);
      values[i] = d * static_cast<float>(kLevels[codes & 15]);
      values[i + 8] = d * static_cast<float>(kLevels[codes >> 4]);
    }
  }
}

void pack_nvfp4(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  std::byte* end = pack_words(rows, 0, 1, panel);
  for (; panel < end; ++panel) {
    if (*panel == std::byte{0x7f}) *panel = std::byte{0};
  }
  pack_words(rows, 4, 8, end);
}

void set_nvfp4_deviation(std::byte* block, float deviation) {
  const float wanted = deviation / kRootMeanSquare * 2;
  uint8_t nearest = 1;
  for (uint8_t bits = 2; bits < 0x7f; ++bits) {
    if (std::fabs(nvfp4_scale(bits) - wanted) < std::fabs(nvfp4_scale(nearest) - wanted)) nearest = bits;
  }
  for (size_t s = 0; s < 4; ++s) store(block + s, nearest);
}

struct Levels {
  static constexpr SortedLevels kSorted{kLevels};
};

/// The one of `count` codes around `near` whose scale leaves the least error.
template <class Sub, class ScaleOf>
int best_code(const Sub& sub, int near, int most, ScaleOf scale_of) {
  int best = std::clamp(near, 0, most);
  for (int code = std::max(near - 2, 0); code <= std::min(near + 2, most); ++code)
    if (sub.at(scale_of(code)).error < sub.at(scale_of(best)).error) best = code;
  return best;
}

void encode_mxfp4(const float* values, const float* importance, std::byte* block) {
  const LevelSub<32, Levels> sub{values, importance};
  const float ideal = std::fabs(ideal_scale(sub));
  const auto scale_of = [](int exponent) { return std::ldexp(1.0F, exponent - 128); };
  const int exponent = best_code(sub, ideal > 0 ? std::ilogb(ideal) + 128 : 0, 254, scale_of);
  block[0] = static_cast<std::byte>(exponent);
  for (size_t i = 0; i < 16; ++i) {
    const float scale = scale_of(exponent);
    block[1 + i] = static_cast<std::byte>(sub.code(i, scale) | sub.code(i + 16, scale) << 4);
  }
}

void encode_nvfp4(const float* values, const float* importance, std::byte* block) {
  const auto scale_of = [](int bits) { return nvfp4_scale(static_cast<uint8_t>(bits)) * 0.5F; };
  for (size_t s = 0; s < 4; ++s) {
    const LevelSub<16, Levels> sub{values + 16 * s, importance + 16 * s};
    const float ideal = std::fabs(ideal_scale(sub));
    int near = 0;
    while (near < 126 && scale_of(near) < ideal) ++near;
    const int bits = best_code(sub, near, 126, scale_of);
    block[s] = static_cast<std::byte>(bits);
    for (size_t i = 0; i < 8; ++i)
      block[4 + 8 * s + i] = static_cast<std::byte>(sub.code(i, scale_of(bits)) | sub.code(i + 8, scale_of(bits)) << 4);
  }
}

}  // namespace

const BlockCodec kMxfp4Codec = {decode_mxfp4, 17 * kPanelRows, pack_mxfp4, set_mxfp4_deviation, encode_mxfp4};
const BlockCodec kNvfp4Codec = {decode_nvfp4, 36 * kPanelRows, pack_nvfp4, set_nvfp4_deviation, encode_nvfp4};

}  // namespace terrace::format
