// Q8_0: 32 values, value = d * code, code signed. File: half d, 32 bytes of codes.
// Panel: 16 halves d, 8 vectors of code words with 128 added to each code (what an unsigned-by-signed dot product
// eats).
#include "format/blocks/blocks.h"
#include "format/fit/uniform.h"

namespace terrace::format {
namespace {

void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block));
  for (size_t i = 0; i < 32; ++i) values[i] = d * static_cast<float>(static_cast<int8_t>(byte_at(block, 2 + i)));
}

void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  panel = pack_halves(rows, 0, panel);
  const std::byte* end = pack_words(rows, 2, 8, panel);
  for (; panel < end; ++panel) *panel ^= std::byte{128};
}

void set_deviation(std::byte* block, float deviation) { store(block, float_to_half(deviation / 73.9F)); }

void store_codes(const uint8_t* codes, std::byte* block) {
  for (size_t i = 0; i < 32; ++i) block[2 + i] = static_cast<std::byte>(codes[i] ^ 128);
}

void lines(const std::byte* block, Line* of_value) {
  const float d = half_to_float(load<uint16_t>(block));
  std::fill_n(of_value, 32, Line{d, -128 * d});
}

constexpr UniformCodes kCodes = {255, lines, store_codes};

void encode(const float* values, const float* importance, std::byte* block) {
  const UniformSub<32, -128, 127> sub{values, importance};
  const float d = half_scale(sub);
  store(block, float_to_half(d));
  uint8_t codes[32];
  for (size_t i = 0; i < 32; ++i) codes[i] = static_cast<uint8_t>(sub.code(i, d) + 128);
  store_codes(codes, block);
}

}  // namespace

const BlockCodec kQ8_0Codec = {decode, 34 * kPanelRows, pack, set_deviation, encode, &kCodes};

}  // namespace terrace::format
