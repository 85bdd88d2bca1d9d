// TQ1_0: 256 values d * (digit - 1), five base-3 digits to a byte. A byte b holds the fraction b / 256, whose digits in
// base 3 are the values': digit n is the top one of b * 3^n mod 256. File: 48 bytes of five digits, 4 of four, half d.
// Of the first 32 bytes, digit n of byte i is value 32 n + i; of the next 16, value 160 + 16 n + i; of the last 4,
// value 240 + 4 n + i. Panel: 16 halves d, the block's 13 words of digits, each for 16 rows side by side.
#include "format/blocks/blocks.h"
#include "format/fit/uniform.h"

namespace terrace::format {
namespace {

constexpr int kPowers[] = {1, 3, 9, 27, 81};

void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block + 52));
  const auto digits = [&](size_t first, size_t bytes, size_t count) {
    for (size_t n = 0; n < count; ++n) {
      for (size_t i = 0; i < bytes; ++i) {
        const int rest = byte_at(block, first + i) * kPowers[n] & 255;
        *values++ = d * static_cast<float>((rest * 3 >> 8) - 1);
      }
    }
  };
  digits(0, 32, 5);
  digits(32, 16, 5);
  digits(48, 4, 4);
}

void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  pack_words(rows, 0, 13, pack_halves(rows, 52, panel));
}

void set_deviation(std::byte* block, float deviation) { store(block + 52, float_to_half(deviation / 0.817F)); }

void encode(const float* values, const float* importance, std::byte* block) {
  const UniformSub<256, -1, 1> sub{values, importance};
  const float d = half_scale(sub);
  size_t next = 0;
  const auto digits = [&](size_t first, size_t bytes, size_t count) {
    for (size_t i = 0; i < bytes; ++i) {
      int number = 0;
      for (size_t n = 0; n < 5; ++n) number = 3 * number + (n < count ? sub.code(next + n * bytes + i, d) + 1 : 0);
      block[first + i] = static_cast<std::byte>((number * 256 + 242) / 243);
    }
    next += bytes * count;
  };
  digits(0, 32, 5);
  digits(32, 16, 5);
  digits(48, 4, 4);
  store(block + 52, float_to_half(d));
}

}  // namespace

const BlockCodec kTq1_0Codec = {decode, 54 * kPanelRows, pack, set_deviation, encode};

}  // namespace terrace::format
