// TQ1_0: 256 values d * (digit - 1), five base-3 digits to a byte. A byte b holds the fraction b / 256, whose digits in
// base 3 are the values': digit n is the top one of b * 3^n mod 256. File: 48 bytes of five digits, 4 of four, half d.
// Of the first 32 bytes, digit n of byte i is value 32 n + i; of the next 16, value 160 + 16 n + i; of the last 4,
// value 240 + 4 n + i. Panel: 16 halves d, then 13 words of digits, each for 16 rows side by side. With quad q the
// values 4 q to 4 q + 3: words 2 s and 2 s + 1 (s < 6) are four fractions of 16 bits, which hold ten digits of the
// values t = 0, 2 (the first word) and 1, 3 of ten quads: the 8 of sub-block s, then quads 48 + 2 s and 49 + 2 s. Byte
// t of the last word has quads 60 and 61 as the number 3 a + b in its low nibble, 62 and 63 in the high one.
#include "format/blocks/blocks.h"
#include "format/fit/uniform.h"

namespace terrace::format {
namespace {

constexpr unsigned kPowers[] = {1, 3, 9, 27, 81};

/// Calls use(value's index, digit) in the order of the values.
template <class Use>
void for_each_digit(const std::byte* block, Use use) {
  size_t value = 0;
  const auto digits = [&](size_t first, size_t bytes, size_t count) {
    for (size_t n = 0; n < count; ++n) {
      for (size_t i = 0; i < bytes; ++i) {
        const unsigned rest = byte_at(block, first + i) * kPowers[n] & 255;
        use(value++, rest * 3 >> 8);
      }
    }
  };
  digits(0, 32, 5);
  digits(32, 16, 5);
  digits(48, 4, 4);
}

void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block + 52));
  for_each_digit(block,
                 [&](size_t i, unsigned digit) { values[i] = d * static_cast<float>(static_cast<int>(digit) - 1); });
}

/// The digits of value `t` of each quad as the panel's words have them, 16 bits or, of the last word, 8.
uint32_t fraction(const unsigned* digits, size_t s, size_t t) {
  uint32_t number = 0;
  for (size_t i = 0; i < 10; ++i) number = 3 * number + digits[4 * (i < 8 ? 8 * s + i : 48 + 2 * s + i - 8) + t];
  return (number * 65536 + 59048) / 59049;  // rounded up, so that no digit is lost
}
uint32_t last_byte(const unsigned* digits, size_t t) {
  const unsigned* quads = digits + 240 + t;
  return (3 * quads[0] + quads[4]) | (3 * quads[8] + quads[12]) << 4;
}

void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  panel = pack_halves(rows, 52, panel);
  for (size_t lane = 0; lane < kPanelRows; ++lane) {
    unsigned digits[256];
    for_each_digit(rows[lane], [&](size_t i, unsigned digit) { digits[i] = digit; });
    uint32_t words[13] = {};
    for (size_t w = 0; w < 12; ++w)
      words[w] = fraction(digits, w / 2, w % 2) | fraction(digits, w / 2, w % 2 + 2) << 16;
    for (size_t t = 0; t < 4; ++t) words[12] |= last_byte(digits, t) << 8 * t;
    for (size_t w = 0; w < 13; ++w) store(panel + 4 * (kPanelRows * w + lane), words[w]);
  }
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
