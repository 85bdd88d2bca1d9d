// IQ1_S, IQ1_M: 256 values in sub-blocks of 32; octets of -1, 0, 1 from a codebook of 2048, moved by an eighth. Value =
// d * (1 + 2 scale) * (entry value +- 1/8). Sources: ggml's block_iq1_*.
//
// IQ1_S: a 3-bit scale and a sign of the eighth per sub-block. File: half d, 32 low bytes of entries, 8 words with the
// entries' high bits (3 each), the scale at bit 12 and the sign at bit 15.
// IQ1_M: a scale per 16 values and a sign per octet. File: 32 low bytes of entries, 16 bytes with per octet a nibble of
// 3 high bits and the sign, 4 words of 4 scales of 3 bits, whose top nibbles together are the half d (lowest first).
//
// Panels, side by side for 16 rows. IQ1_S: halves d, then per sub-block its half word and the word of low entry bytes.
// IQ1_M: the 4 half words, then per sub-block the half word of 4 nibbles and the word of low entry bytes.
#include "format/blocks/blocks.h"
#include "format/blocks/codebooks.h"

namespace terrace::format {
namespace {

using Rows = const std::byte* const (&)[kPanelRows];

void decode_octet(size_t entry, bool negative, float scale, float* values) {
  for (size_t i = 0; i < 8; ++i)
    values[i] = scale * (static_cast<float>(kIq1Codebook.value(entry, i)) + (negative ? -0.125F : 0.125F));
}

void decode_s(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block));
  for (size_t o = 0; o < 32; ++o, values += 8) {
    const unsigned word = load<uint16_t>(block + 34 + o / 4 * 2);
    const size_t entry = byte_at(block, 2 + o) | (word >> o % 4 * 3 & 7) << 8;
    decode_octet(entry, word >> 15, d * static_cast<float>(1 + 2 * (word >> 12 & 7)), values);
  }
}

void pack_s(Rows rows, std::byte* panel) {
  panel = pack_halves(rows, 0, panel);
  for (size_t s = 0; s < 8; ++s) panel = pack_words(rows, 2 + 4 * s, 1, pack_halves(rows, 34 + 2 * s, panel));
}

void set_s_deviation(std::byte* block, float deviation) { store(block, float_to_half(deviation / 7.19F)); }

void decode_m(const std::byte* block, float* values) {
  unsigned bits = 0;
  for (size_t i = 0; i < 4; ++i) bits |= load<uint16_t>(block + 48 + 2 * i) >> 12 << 4 * i;
  const float d = half_to_float(static_cast<uint16_t>(bits));
  for (size_t o = 0; o < 32; ++o, values += 8) {
    const unsigned nibble = byte_at(block, 32 + o / 2) >> o % 2 * 4 & 15;
    const unsigned scale = load<uint16_t>(block + 48 + o / 8 * 2) >> o / 2 % 4 * 3 & 7;
    const size_t entry = byte_at(block, o) | (nibble & 7) << 8;
    decode_octet(entry, nibble & 8, d * static_cast<float>(1 + 2 * scale), values);
  }
}

void pack_m(Rows rows, std::byte* panel) {
  for (size_t i = 0; i < 4; ++i) panel = pack_halves(rows, 48 + 2 * i, panel);
  for (size_t s = 0; s < 8; ++s) panel = pack_words(rows, 4 * s, 1, pack_halves(rows, 32 + 2 * s, panel));
}

void set_m_deviation(std::byte* block, float deviation) {
  const unsigned d = float_to_half(deviation / 7.19F);
  for (size_t i = 0; i < 4; ++i) {
    std::byte& high = block[49 + 2 * i];
    high = (high & std::byte{15}) | static_cast<std::byte>((d >> 4 * i & 15) << 4);
  }
}

}  // namespace

const BlockCodec kIq1SCodec = {decode_s, 50 * kPanelRows, pack_s, set_s_deviation};
const BlockCodec kIq1MCodec = {decode_m, 56 * kPanelRows, pack_m, set_m_deviation};

}  // namespace terrace::format
