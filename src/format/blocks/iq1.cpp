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
#include <cmath>

#include "format/blocks/blocks.h"
#include "format/blocks/codebooks.h"
#include "format/fit/grid.h"

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

constexpr auto kUnits = spaced_units<8>(1, 2);
constexpr float kShift = 0.125F;
constexpr size_t kEntries = 2048;

/// Adds one octet to a table's entries from `first` on, with all values moved by `shift`.
template <size_t Entries>
void add_octet(const float* x, const float* w, float shift, Table<Entries>& table, size_t first = 0) {
  static const BookValues<decltype(kIq1Codebook)> values(kIq1Codebook);
  for (size_t i = 0; i < 8; ++i) table.add(w[i] * x[i], w[i], values.values[i], shift, first, kEntries);
}

template <class Sub>
void add_values(const float* x, const float* w, size_t count, Sub& sub) {
  for (size_t i = 0; i < count; ++i) {
    sub.squares += w[i] * x[i] * x[i];
    sub.largest = std::max(sub.largest, std::fabs(x[i]));
  }
}

/// 32 values whose entries move all up or all down.
struct ShiftedSub {
  using Side = GridSub<4, 1>;
  static constexpr auto kSteps = Side::kSteps;
  Side up, down;

  bool is_down(float scale) const { return down.at(scale).error < up.at(scale).error; }
  float reach() const { return up.reach(); }
  Fit at(float scale) const { return is_down(scale) ? down.at(scale) : up.at(scale); }
};

void encode_s(const float* values, const float* importance, std::byte* block) {
  const auto tables = std::make_unique<GridTables<4, kEntries, 1>>();
  std::array<ShiftedSub, 8> subs;
  for (size_t j = 0; j < 8; ++j) {
    for (const bool down : {false, true}) {
      const float *x = values + 32 * j, *w = importance + 32 * j;
      *tables = {};
      tables->sub = down ? &subs[j].down : &subs[j].up;
      add_values(x, w, 32, *tables->sub);
      for (size_t o = 0; o < 4; ++o) add_octet(x + 8 * o, w + 8 * o, down ? -kShift : kShift, tables->tables[o]);
      ideal_scale(*tables);
    }
  }
  const auto scales = choose_scales(subs, kUnits);
  store(block, float_to_half(scales.d));
  for (size_t j = 0; j < 8; ++j) {
    const float scale = scales.d * kUnits[scales.index[j]];
    const bool down = subs[j].is_down(scale);
    auto word = static_cast<unsigned>(scales.index[j] << 12 | (down ? 0x8000 : 0));
    for (size_t o = 0; o < 4; ++o) {
      const unsigned entry = (down ? subs[j].down : subs[j].up).lists[o].best(scale).entry;
      block[2 + 4 * j + o] = static_cast<std::byte>(entry);
      word |= entry >> 8 << 3 * o;
    }
    store(block + 34 + 2 * j, static_cast<uint16_t>(word));
  }
}

void encode_m(const float* values, const float* importance, std::byte* block) {
  // Entries moved down come second.
  const auto tables = std::make_unique<GridTables<2, 2 * kEntries, 1>>();
  std::array<GridSub<2, 1>, 16> subs;
  for (size_t j = 0; j < 16; ++j) {
    const float *x = values + 16 * j, *w = importance + 16 * j;
    *tables = {};
    tables->sub = &subs[j];
    add_values(x, w, 16, subs[j]);
    for (size_t o = 0; o < 2; ++o) {
      add_octet(x + 8 * o, w + 8 * o, kShift, tables->tables[o]);
      add_octet(x + 8 * o, w + 8 * o, -kShift, tables->tables[o], kEntries);
    }
    ideal_scale(*tables);
  }
  const auto scales = choose_scales(subs, kUnits);
  std::memset(block, 0, 56);
  unsigned words[4] = {};
  for (size_t j = 0; j < 16; ++j) {
    words[j / 4] |= static_cast<unsigned>(scales.index[j]) << j % 4 * 3;
    for (size_t o = 2 * j; o < 2 * j + 2; ++o) {
      const unsigned entry = subs[j].lists[o % 2].best(scales.d * kUnits[scales.index[j]]).entry;
      block[o] = static_cast<std::byte>(entry);
      block[32 + o / 2] |= static_cast<std::byte>((entry >> 8) << o % 2 * 4);  // bit 11 is the sign's
    }
  }
  const unsigned d = float_to_half(scales.d);
  for (size_t i = 0; i < 4; ++i) store(block + 48 + 2 * i, static_cast<uint16_t>(words[i] | (d >> 4 * i & 15) << 12));
}

}  // namespace

const BlockCodec kIq1SCodec = {decode_s, 50 * kPanelRows, pack_s, set_s_deviation, encode_s};
const BlockCodec kIq1MCodec = {decode_m, 56 * kPanelRows, pack_m, set_m_deviation, encode_m};

}  // namespace terrace::format
