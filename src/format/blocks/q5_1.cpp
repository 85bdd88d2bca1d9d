// Q5_1: 32 values, value = d * code + m. File: half d, half m, 32 fifth bits, 16 bytes of low codes, as in Q5_0.
// Panel: 16 halves d, 16 halves m, a word of fifth bits, 4 vectors of code words.
#include "format/blocks/blocks.h"
#include "format/fit/affine.h"

namespace terrace::format {
namespace {

void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block)), m = half_to_float(load<uint16_t>(block + 2));
  const auto fifth = load<uint32_t>(block + 4);
  for (size_t i = 0; i < 16; ++i) {
    const int codes = byte_at(block, 8 + i);
    values[i] = d * static_cast<float>((codes & 15) | static_cast<int>(fifth >> i & 1) << 4) + m;
    values[i + 16] = d * static_cast<float>(codes >> 4 | static_cast<int>(fifth >> (i + 16) & 1) << 4) + m;
  }
}

void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  panel = pack_halves(rows, 2, pack_halves(rows, 0, panel));
  panel = pack_fifth_bits([&](size_t lane) { return load<uint32_t>(rows[lane] + 4); }, panel);
  pack_words(rows, 8, 4, panel);
}

void set_deviation(std::byte* block, float deviation) {
  store(block, float_to_half(deviation / 9.23F));
  store(block + 2, float_to_half(deviation / 9.23F * -15.5F));
}

void store_codes(const uint8_t* codes, std::byte* block) { store_fives(codes, block + 4); }

void lines(const std::byte* block, Line* of_value) {
  const float d = half_to_float(load<uint16_t>(block)), m = half_to_float(load<uint16_t>(block + 2));
  std::fill_n(of_value, 32, Line{d, m});
}

constexpr UniformCodes kCodes = {31, lines, store_codes};

void encode(const float* values, const float* importance, std::byte* block) {
  const AffineSub<32, 31> sub{values, importance};
  const ScaleAndMinimum s = half_affine(sub);
  store(block, float_to_half(s.scale));
  store(block + 2, float_to_half(-s.minimum));
  uint8_t codes[32];
  for (size_t i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(sub.code(i, s));
  store_codes(codes, block);
}

}  // namespace

const BlockCodec kQ5_1Codec = {decode, 24 * kPanelRows, pack, set_deviation, encode, &kCodes};

}  // namespace terrace::format
