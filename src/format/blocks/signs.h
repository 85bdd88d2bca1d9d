// Signs of the IQ types: a byte has those of 8 values, bit i for value i; some types store 7 and make the number of
// negative values even.
#pragma once

#include <bit>

#include "format/blocks/blocks.h"

namespace terrace::format {

inline uint8_t complete_signs(uint32_t seven) {
  return static_cast<uint8_t>(seven | static_cast<uint32_t>(std::popcount(seven) & 1) << 7);
}

/// Writes the first seven signs of 4 octets per row, `seven(lane, octet)`: 4 words of 64 bits with the signs of each
/// octet's first 4 values, 4 bits per lane, then 4 of 48 bits with those of the next 3 values. Returns the end.
template <class Seven>
std::byte* pack_seven_signs(Seven seven, std::byte* panel) {
  uint64_t first[4] = {}, rest[4] = {};
  for (size_t lane = 0; lane < kPanelRows; ++lane) {
    for (size_t octet = 0; octet < 4; ++octet) {
      const uint64_t signs = seven(lane, octet);
      first[octet] |= (signs & 15) << 4 * lane;
      rest[octet] |= (signs >> 4 & 7) << 3 * lane;
    }
  }
  std::memcpy(panel, first, sizeof first);
  for (size_t octet = 0; octet < 4; ++octet) std::memcpy(panel + sizeof first + 6 * octet, &rest[octet], 6);
  return panel + sizeof first + 24;
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
