// Q4_1: 32 values, value = d * code + m. File: half d, half m, 16 bytes of codes as in Q4_0.
// Panel: 16 halves d, 16 halves m, 4 vectors of code words as in Q4_0.
#include "format/blocks/blocks.h"
#include "format/fit/affine.h"

namespace terrace::format {
namespace {

void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block)), m = half_to_float(load<uint16_t>(block + 2));
  for (size_t i = 0; i < 16; ++i) {
    const int codes = byte_at(block, 4 + i);
    values[i] = d * static_cast<float>(codes & 15) + m;
    values[i + 16] = d * static_cast<float>(codes >> 4) + m;
  }
}

void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  pack_words(rows, 4, 4, pack_halves(rows, 2, pack_halves(rows, 0, panel)));
}

void set_deviation(std::byte* block, float deviation) {
  store(block, float_to_half(deviation / 4.61F));
  store(block + 2, float_to_half(deviation / 4.61F * -7.5F));
}

void store_codes(const uint8_t* codes, std::byte* block) { store_nibbles(codes, block + 4); }

void lines(const std::byte* block, Line* of_value) {
  const float d = half_to_float(load<uint16_t>(block)), m = half_to_float(load<uint16_t>(block + 2));
  std::fill_n(of_value, 32, Line{d, m});
}

constexpr UniformCodes kCodes = {15, lines, store_codes};

void encode(const float* values, const float* importance, std::byte* block) {
  const AffineSub<32, 15> sub{values, importance};
  const ScaleAndMinimum s = half_affine(sub);
  store(block, float_to_half(s.scale));
  store(block + 2, float_to_half(-s.minimum));
  uint8_t codes[32];
  for (size_t i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(sub.code(i, s));
  store_codes(codes, block);
}

}  // namespace

const BlockCodec kQ4_1Codec = {decode, 20 * kPanelRows, pack, set_deviation, encode, &kCodes};

}  // namespace terrace::format
