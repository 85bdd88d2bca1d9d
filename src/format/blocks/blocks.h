// The codecs that format/blocks defines, one file per type, and the helpers they share.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>

#include "base/half.h"
#include "format/block_type.h"

namespace terrace::format {

extern const BlockCodec kF32Codec, kF16Codec, kBf16Codec;
extern const BlockCodec kQ4_0Codec, kQ4_1Codec, kQ5_0Codec, kQ5_1Codec, kQ8_0Codec;
extern const BlockCodec kQ1_0Codec, kQ2_0Codec, kTq1_0Codec, kTq2_0Codec;
extern const BlockCodec kQ2_KCodec, kQ3_KCodec, kQ4_KCodec, kQ5_KCodec, kQ6_KCodec;
extern const BlockCodec kMxfp4Codec, kNvfp4Codec, kIq4NlCodec, kIq4XsCodec;
extern const BlockCodec kQ4SG128Codec, kQ8G128Codec, kNf4CCodec, kQ4CCodec, kQ8CCodec;
extern const BlockCodec kIq1SCodec, kIq1MCodec, kIq2XxsCodec, kIq2XsCodec, kIq2SCodec, kIq3XxsCodec, kIq3SCodec;

template <class T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <class T>
void store(std::byte* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

inline uint8_t byte_at(const std::byte* from, size_t index) { return std::to_integer<uint8_t>(from[index]); }

/// Writes `words` 32-bit words of each row, found at `offset` in its block, as `words` vectors of 16 lanes. Returns the
/// end.
inline std::byte* pack_words(const std::byte* const (&rows)[kPanelRows], size_t offset, size_t words,
                             std::byte* panel) {
  for (size_t w = 0; w < words; ++w) {
    for (size_t lane = 0; lane < kPanelRows; ++lane)
      std::memcpy(panel + 4 * (kPanelRows * w + lane), rows[lane] + offset + 4 * w, 4);
  }
  return panel + 4 * kPanelRows * words;
}

/// Writes each row's half at `offset` as one vector of 16 halves. Returns the end.
inline std::byte* pack_halves(const std::byte* const (&rows)[kPanelRows], size_t offset, std::byte* panel) {
  for (size_t lane = 0; lane < kPanelRows; ++lane) std::memcpy(panel + 2 * lane, rows[lane] + offset, 2);
  return panel + 2 * kPanelRows;
}

/// Writes value(lane) of the 16 rows side by side, as words of the given type. Returns the end.
template <class Word, class Value>
std::byte* pack_lanes(Value value, std::byte* panel) {
  for (size_t lane = 0; lane < kPanelRows; ++lane) store(panel + sizeof(Word) * lane, static_cast<Word>(value(lane)));
  return panel + sizeof(Word) * kPanelRows;
}

/// Writes a word per row whose byte t is byte(row, t). Returns the end.
template <class Byte>
std::byte* pack_quads(const std::byte* const (&rows)[kPanelRows], Byte byte, std::byte* panel) {
  const auto word = [&](size_t lane) {
    uint32_t bytes = 0;
    for (size_t t = 0; t < 4; ++t) bytes |= uint32_t{byte(rows[lane], t)} << 8 * t;
    return bytes;
  };
  return pack_lanes<uint32_t>(word, panel);
}

/// Writes `count` bytes of each row, found at `offset` in its block, as `count` vectors of 16 bytes. Returns the end.
inline std::byte* pack_bytes(const std::byte* const (&rows)[kPanelRows], size_t offset, size_t count,
                             std::byte* panel) {
  for (size_t i = 0; i < count; ++i)
    panel = pack_lanes<uint8_t>([&](size_t lane) { return byte_at(rows[lane], offset + i); }, panel);
  return panel;
}

/// Writes the fifth bits of 32 values per row as a word: value 4 q + t has its bit at bit q of byte t. `bits(lane)`
/// yields a row's 32 bits, bit i for value i. Returns the end.
template <class Bits>
std::byte* pack_fifth_bits(Bits bits, std::byte* panel) {
  const auto word = [&](size_t lane) {
    const uint32_t row = bits(lane);
    uint32_t spread = 0;
    for (size_t i = 0; i < 32; ++i) spread |= (row >> i & 1) << (8 * (i % 4) + i / 4);
    return spread;
  };
  return pack_lanes<uint32_t>(word, panel);
}

/// The 6-bit scale and minimum of sub-block j (0..7) in the 12 packed bytes of Q4_K and Q5_K. Source: ggml's
/// block_q4_K.
struct ScaleMin {
  uint8_t scale, minimum;
};
inline ScaleMin scale_min(const std::byte* packed, size_t j) {
  const auto byte = [&](size_t i) { return byte_at(packed, i); };
  if (j < 4) return {static_cast<uint8_t>(byte(j) & 63), static_cast<uint8_t>(byte(j + 4) & 63)};
  return {static_cast<uint8_t>((byte(j + 4) & 15) | byte(j - 4) >> 6 << 4),
          static_cast<uint8_t>(byte(j + 4) >> 4 | byte(j) >> 6 << 4)};
}

/// The lines of Q4_K and Q5_K, whose blocks begin with half d, half dmin and the packed scales and minima.
inline void lines_of_scale_mins(const std::byte* block, Line* of_value) {
  const float d = half_to_float(load<uint16_t>(block)), dmin = half_to_float(load<uint16_t>(block + 2));
  for (size_t j = 0; j < 8; ++j) {
    const ScaleMin packed = scale_min(block + 4, j);
    std::fill_n(of_value + 32 * j, 32, Line{d * packed.scale, -dmin * packed.minimum});
  }
}

/// Writes 32 4-bit codes as 16 bytes: byte i holds value i low and value i + 16 high. Higher bits are left out.
inline void store_nibbles(const uint8_t* codes, std::byte* bytes) {
  for (size_t i = 0; i < 16; ++i) bytes[i] = static_cast<std::byte>((codes[i] & 15) | (codes[i + 16] & 15) << 4);
}

/// Writes 32 5-bit codes as 20 bytes: a bit of each, the highest, then the others as store_nibbles() does.
inline void store_fives(const uint8_t* codes, std::byte* bytes) {
  uint32_t fifth = 0;
  for (size_t i = 0; i < 32; ++i) fifth |= uint32_t{codes[i]} >> 4 << i;
  store(bytes, fifth);
  store_nibbles(codes, bytes + 4);
}

/// Writes the 12 packed bytes that scale_min() reads.
inline void store_scale_mins(const std::array<uint8_t, 8>& scales, const std::array<uint8_t, 8>& minima,
                             std::byte* packed) {
  for (size_t j = 0; j < 4; ++j) {
    packed[j] = static_cast<std::byte>(scales[j] | scales[j + 4] >> 4 << 6);
    packed[j + 4] = static_cast<std::byte>(minima[j] | minima[j + 4] >> 4 << 6);
    packed[j + 8] = static_cast<std::byte>((scales[j + 4] & 15) | minima[j + 4] << 4);
  }
}

}  // namespace terrace::format
