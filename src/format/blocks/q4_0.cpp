// Q4_0: 32 values, value = d * (code - 8). File: half d, 16 bytes of codes (byte i: value i low, value i + 16 high).
// Panel: 16 halves d, 4 vectors of code words (word j: values 4j.. in the low nibbles, 16 + 4j.. in the high ones).
#include "format/blocks/blocks.h"
#include "format/fit/uniform.h"

namespace terrace::format {
namespace {

void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block));
  for (size_t i = 0; i < 16; ++i) {
    const int codes = byte_at(block, 2 + i);
    values[i] = d * static_cast<float>((codes & 15) - 8);
    values[i + 16] = d * static_cast<float>((codes >> 4) - 8);
  }
}

void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  pack_words(rows, 2, 4, pack_halves(rows, 0, panel));
}

void set_deviation(std::byte* block, float deviation) { store(block, float_to_half(deviation / 4.64F)); }

void store_codes(const uint8_t* codes, std::byte* block) { store_nibbles(codes, block + 2); }

void lines(const std::byte* block, Line* of_value) {
  const float d = half_to_float(load<uint16_t>(block));
  std::fill_n(of_value, 32, Line{d, -8 * d});
}

constexpr UniformCodes kCodes = {15, lines, store_codes};

void encode(const float* values, const float* importance, std::byte* block) {
  const UniformSub<32, -8, 7> sub{values, importance};
  const float d = half_scale(sub);
  store(block, float_to_half(d));
  uint8_t codes[32];
  for (size_t i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(sub.code(i, d) + 8);
  store_codes(codes, block);
}

}  // namespace

const BlockCodec kQ4_0Codec = {decode, 18 * kPanelRows, pack, set_deviation, encode, &kCodes};

}  // namespace terrace::format
