// Terrace's own types: symmetric codes with one half scale per group of 128 values, or per row ("channel") for
// accelerators that scale whole rows.
//
// Q4SG128: 128 values d * (code - 8). Q8G128: 128 values d * code, code signed. d may be negative, so that the code -8
// (-128), which reaches one further, goes to the side where the largest value is.
// NF4C: 256 values d * level of the 4-bit NormalFloat (Dettmers et al., "QLoRA", 2023, appendix E; times 127, rounded).
// Q4C: 256 values d * (code - 8). Q8C: 256 values d * code. All blocks of a row of these three have the same d: a block
// can be read on its own, at 1.6 % (0.8 % for Q8C) more bytes.
//
// File: half d, then the codes in runs of 32 values: 4-bit codes as 16 bytes as in Q4_0, 8-bit codes as 32 bytes.
// Panel: 16 halves d, then the file's code words for 16 rows side by side, 8-bit codes with 128 added.
#include <cmath>
#include <vector>

#include "format/blocks/blocks.h"
#include "format/fit/uniform.h"

namespace terrace::format {
namespace {

constexpr int kNormalFloat[16] = {-127, -88, -67, -50, -36, -23, -12, 0, 10, 20, 31, 43, 56, 71, 92, 127};

struct Levels {
  static constexpr SortedLevels kSorted{kNormalFloat};
};

/// What a 4-bit code stands for.
struct Linear4 {
  template <size_t N>
  using Sub = UniformSub<N, -8, 7>;
  static constexpr int kBias = 8, kBits = 4;
  static float value(int code) { return static_cast<float>(code - 8); }
};
struct Normal4 {
  template <size_t N>
  using Sub = LevelSub<N, Levels>;
  static constexpr int kBias = 0, kBits = 4;
  static float value(int code) { return static_cast<float>(kNormalFloat[code]); }
};
struct Linear8 {
  template <size_t N>
  using Sub = UniformSub<N, -128, 127>;
  static constexpr int kBias = 128, kBits = 8;
  static float value(int code) { return static_cast<float>(static_cast<int8_t>(code)); }
};

template <class Kind, size_t Values>
constexpr size_t block_bytes = 2 + Values * Kind::kBits / 8;

int code_at(const std::byte* codes, size_t i, int bits) {
  if (bits == 8) return byte_at(codes, i);
  return byte_at(codes, i / 32 * 16 + i % 16) >> i / 16 % 2 * 4 & 15;
}

template <class Kind, size_t Values>
void decode(const std::byte* block, float* values) {
  const float d = half_to_float(load<uint16_t>(block));
  for (size_t i = 0; i < Values; ++i) values[i] = d * Kind::value(code_at(block + 2, i, Kind::kBits));
}

template <class Kind, size_t Values>
void pack(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  std::byte* codes = pack_halves(rows, 0, panel);
  const std::byte* end = pack_words(rows, 2, (block_bytes<Kind, Values> - 2) / 4, codes);
  if constexpr (Kind::kBits == 8) {
    for (; codes < end; ++codes) *codes ^= std::byte{128};
  }
}

template <class Kind, size_t Values>
void store_codes(const uint8_t* codes, std::byte* block) {
  if constexpr (Kind::kBits == 8) {
    for (size_t i = 0; i < Values; ++i) block[2 + i] = static_cast<std::byte>(codes[i] ^ 128);
  } else {
    for (size_t i = 0; i < Values; i += 32) store_nibbles(codes + i, block + 2 + i / 2);
  }
}

template <class Kind, size_t Values>
void lines(const std::byte* block, Line* of_value) {
  const float d = half_to_float(load<uint16_t>(block));
  std::fill_n(of_value, Values, Line{d, -Kind::kBias * d});
}

/// For kinds whose levels are evenly spaced.
template <class Kind, size_t Values>
constexpr UniformCodes kCodes = {(1 << Kind::kBits) - 1, lines<Kind, Values>, store_codes<Kind, Values>};

template <class Kind, size_t Values>
void store_block(const typename Kind::template Sub<Values>& sub, float d, std::byte* block) {
  store(block, float_to_half(d));
  uint8_t codes[Values];
  for (size_t i = 0; i < Values; ++i) codes[i] = static_cast<uint8_t>(sub.code(i, d) + Kind::kBias);
  store_codes<Kind, Values>(codes, block);
}

template <class Kind, size_t Values>
void encode(const float* values, const float* importance, std::byte* block) {
  const typename Kind::template Sub<Values> sub{values, importance};
  store_block<Kind, Values>(sub, half_scale(sub), block);
}

/// The subs of a row, which share a scale.
template <class Sub>
struct RowSub {
  static constexpr auto kSteps = Sub::kSteps;
  std::vector<Sub> parts;

  float reach() const {
    float most = 0;
    for (const Sub& part : parts) most = std::max(most, part.reach());
    return most;
  }
  Fit at(float scale) const {
    Fit sum{0, 0, 0};
    for (const Sub& part : parts) {
      const Fit fit = part.at(scale);
      sum.error += fit.error;
      sum.xg += fit.xg;
      sum.gg += fit.gg;
    }
    return sum;
  }
};

template <class Kind, size_t Values>
void encode_row(const float* values, const float* importance, size_t columns, std::byte* blocks) {
  RowSub<typename Kind::template Sub<Values>> row;
  for (size_t i = 0; i < columns; i += Values) row.parts.push_back({values + i, importance + i});
  const float d = half_scale(row);
  for (const auto& part : row.parts) {
    store_block<Kind, Values>(part, d, blocks);
    blocks += block_bytes<Kind, Values>;
  }
}

/// The deviation of uniform random codes is `Deviation` hundredths.
template <int Deviation>
void set_deviation(std::byte* block, float deviation) {
  store(block, float_to_half(deviation * 100.0F / Deviation));
}

template <class Kind, size_t Values, int Deviation>
constexpr BlockCodec codec() {
  const UniformCodes* codes = std::is_same_v<Kind, Normal4> ? nullptr : &kCodes<Kind, Values>;
  return {decode<Kind, Values>, block_bytes<Kind, Values> * kPanelRows,
          pack<Kind, Values>,   set_deviation<Deviation>,
          encode<Kind, Values>, codes};
}
template <class Kind, size_t Values, int Deviation>
constexpr BlockCodec row_codec() {
  BlockCodec codec = terrace::format::codec<Kind, Values, Deviation>();
  codec.encode_row = encode_row<Kind, Values>;
  return codec;
}

}  // namespace

const BlockCodec kQ4SG128Codec = codec<Linear4, 128, 464>();
const BlockCodec kQ8G128Codec = codec<Linear8, 128, 7390>();
const BlockCodec kNf4CCodec = row_codec<Normal4, 256, 6560>();
const BlockCodec kQ4CCodec = row_codec<Linear4, 256, 464>();
const BlockCodec kQ8CCodec = row_codec<Linear8, 256, 7390>();

}  // namespace terrace::format
