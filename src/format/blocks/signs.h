// Signs of the IQ types: a byte has those of 8 values, bit i for value i; some types store 7 and make the number of
// negative values even.
#pragma once

#include <bit>

#include "format/blocks/blocks.h"

namespace terrace::format {

inline uint8_t complete_signs(uint32_t seven) {
  return static_cast<uint8_t>(seven | static_cast<uint32_t>(std::popcount(seven) & 1) << 7);
}

/// Writes a word per row with the signs of 4 octets, `octet(lane, o)`: value 8 o + 4 h + p has its sign at bit o + 4 h
/// of byte p, so that a shift moves those of 4 consecutive values to the tops of the bytes. Where an octet has 7 signs,
/// the 4 highest bits of the word are free for `top(lane)`. Returns the end.
template <class Octet, class Top>
std::byte* pack_signs(Octet octet, Top top, std::byte* panel) {
  const auto word = [&](size_t lane) {
    uint32_t bits = static_cast<uint32_t>(top(lane)) << 28;
    for (size_t o = 0; o < 4; ++o) {
      const uint32_t signs = octet(lane, o);
      for (size_t i = 0; i < 8; ++i) bits |= (signs >> i & 1) << (8 * (i % 4) + o + 4 * (i / 4));
    }
    return bits;
  };
  return pack_lanes<uint32_t>(word, panel);
}

/// Values of one codebook entry.
template <class Book>
void decode_entry(const Book& book, size_t entry, uint32_t signs, float scale, float* values) {
  for (size_t i = 0; i < Book::kRun; ++i) {
    const float magnitude = scale * static_cast<float>(book.value(entry, i));
    values[i] = signs >> i & 1 ? -magnitude : magnitude;
  }
}

}  // namespace terrace::format
