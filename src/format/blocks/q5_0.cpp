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

void encode(const float* values, const float* importance, std::byte* block) {
  const UniformSub<32, -16, 15> sub{values, importance};
  const float d = half_scale(sub);
  uint32_t fifth = 0;
  for (size_t i = 0; i < 16; ++i) {
    const auto low = static_cast<uint32_t>(sub.code(i, d) + 16), high = static_cast<uint32_t>(sub.code(i + 16, d) + 16);
    fifth |= low >> 4 << i | high >> 4 << (i + 16);
    block[6 + i] = static_cast<std::byte>((low & 15) | (high & 15) << 4);
  }
  store(block, float_to_half(d));
  store(block + 2, fifth);
}

}  // namespace

const BlockCodec kQ5_0Codec = {decode, 22 * kPanelRows, pack, set_deviation, encode};

}  // namespace terrace::format
