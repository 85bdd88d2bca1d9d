// Q5_0: 32 values, value = d * (code - 16). File: half d, 32 fifth bits (bit i for value i), 16 bytes of low codes as
// in Q4_0. Panel: 16 halves d, a word of fifth bits, 4 vectors of code words as in Q4_0.
#include "format/blocks/blocks.h"
#include "format/fit/uniform.h"

namespace terrace::format {
namespace {

void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block));
  const auto fifth = load<uint32_t>(block + 2);
  for (size_t i = 0; i < 16; ++i) {
    const int codes = byte_at(block, 6 + i);
    values[i] = d * static_cast<float>(((codes & 15) | static_cast<int>(fifth >> i & 1) << 4) - 16);
    values[i + 16] = d * static_cast<float>((codes >> 4 | static_cast<int>(fifth >> (i + 16) & 1) << 4) - 16);
  }
}

void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  panel = pack_halves(rows, 0, panel);
  panel = pack_fifth_bits([&](size_t lane) { return load<uint32_t>(rows[lane] + 2); }, panel);
  pack_words(rows, 6, 4, panel);
}

void set_deviation(std::byte* block, float deviation) { store(block, float_to_half(deviation / 9.25F)); }

void store_codes(const uint8_t* codes, std::byte* block) { store_fives(codes, block + 2); }

void lines(const std::byte* block, Line* of_value) {
  const float d = half_to_float(load<uint16_t>(block));
  std::fill_n(of_value, 32, Line{d, -16 * d});
}

constexpr UniformCodes kCodes = {31, lines, store_codes};

void encode(const float* values, const float* importance, std::byte* block) {
  const UniformSub<32, -16, 15> sub{values, importance};
  const float d = half_scale(sub);
  store(block, float_to_half(d));
  uint8_t codes[32];
  for (size_t i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(sub.code(i, d) + 16);
  store_codes(codes, block);
}

}  // namespace

const BlockCodec kQ5_0Codec = {decode, 22 * kPanelRows, pack, set_deviation, encode, &kCodes};

}  // namespace terrace::format
