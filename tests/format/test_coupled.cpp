// Rounding that knows how the errors of columns add up: what it may change, and what it must lower.
#include <gtest/gtest.h>

#include <cmath>

#include "format/encode.h"
#include "support/numbers.h"

namespace terrace::format {
namespace {

using testing::random_floats;

constexpr size_t kColumns = 512;

std::vector<const BlockType*> types_with_codes() {
  std::vector<const BlockType*> types;
  for (const BlockType& type : block_types())
    if (type.codec && type.codec->codes) types.push_back(&type);
  return types;
}

std::vector<std::byte> encode(const BlockType& type, std::span<const float> values, const ColumnWeights& weights) {
  std::vector<std::byte> blocks(values.size() / type.values * type.bytes);
  encode_rows(type, values.data(), values.size() / kColumns, kColumns, weights, blocks.data());
  return blocks;
}

/// H with a few strong directions over an even ground, in both forms.
struct Moments {
  std::vector<float> directions = random_floats(7, kColumns* kDirections), diagonal, dense;

  Moments() : diagonal(kColumns, 0.5F), dense(kColumns * kColumns) {
    for (size_t i = 0; i < directions.size(); ++i)
      directions[i] *= std::exp(-0.1F * static_cast<float>(i % kDirections));
    for (size_t i = 0; i < kColumns; ++i)
      for (size_t k = 0; k < kDirections; ++k) diagonal[i] += std::pow(directions[i * kDirections + k], 2.0F);
    for (size_t i = 0; i < kColumns; ++i) {
      for (size_t j = 0; j < kColumns; ++j)
        for (size_t k = 0; k < kDirections; ++k)
          dense[i * kColumns + j] += directions[i * kDirections + k] * directions[j * kDirections + k];
      dense[i * kColumns + i] = diagonal[i];
    }
  }
  Coupling along_directions() const { return {directions, diagonal, {}}; }
  Coupling along_moments() const { return {{}, {}, dense}; }

  /// Of what the blocks hold.
  double cost(const BlockType& type, std::span<const std::byte> blocks, std::span<const float> values) const {
    std::vector<float> errors(values.size());
    decode_values(type, blocks.data(), errors.size(), errors.data());
    double sum = 0;
    for (size_t row = 0; row < values.size(); row += kColumns) {
      for (size_t i = 0; i < kColumns; ++i) errors[row + i] -= values[row + i];
      for (size_t i = 0; i < kColumns; ++i)
        for (size_t j = 0; j < kColumns; ++j)
          sum += double{errors[row + i]} * dense[i * kColumns + j] * errors[row + j];
    }
    return sum;
  }
};

const Moments& moments() {
  static const Moments moments;
  return moments;
}

TEST(Codes, OfEveryTypeAreWhatItsBlocksHold) {
  const auto types = types_with_codes();
  EXPECT_EQ(types.size(), 14U);
  for (const BlockType* type : types) {
    const auto values = random_floats(1, 4 * kColumns);
    const auto blocks = encode(*type, values, {});
    std::vector<float> decoded(values.size());
    decode_values(*type, blocks.data(), decoded.size(), decoded.data());
    std::vector<Line> lines(type->values);
    std::vector<uint8_t> codes(type->values);
    for (size_t i = 0; i < values.size(); i += type->values) {
      const std::byte* block = &blocks[i / type->values * type->bytes];
      type->codec->codes->lines(block, lines.data());
      for (size_t v = 0; v < type->values; ++v) {
        const float code = std::round((decoded[i + v] - lines[v].low) / lines[v].step);
        ASSERT_GE(code, 0) << type->name;
        ASSERT_LE(code, static_cast<float>(type->codec->codes->last)) << type->name;
        ASSERT_NEAR(lines[v].low + lines[v].step * code, decoded[i + v], 1e-5) << type->name;
        codes[v] = static_cast<uint8_t>(code);
      }
      std::vector<std::byte> again(block, block + type->bytes);
      type->codec->codes->store(std::vector<uint8_t>(type->values, 0).data(), again.data());
      type->codec->codes->store(codes.data(), again.data());
      ASSERT_TRUE(std::equal(again.begin(), again.end(), block)) << type->name;
    }
  }
}

TEST(CoupledRounding, LowersTheCostAndLeavesTheScales) {
  const auto values = random_floats(2, 20 * kColumns);
  for (const BlockType* type : types_with_codes()) {
    const auto plain = encode(*type, values, {});
    for (const Coupling& coupling : {moments().along_directions(), moments().along_moments()}) {
      const auto coupled = encode(*type, values, {{}, coupling});
      EXPECT_LT(moments().cost(*type, coupled, values), 0.7 * moments().cost(*type, plain, values)) << type->name;
      std::vector<Line> before(type->values), after(type->values);
      for (size_t at = 0; at < plain.size(); at += type->bytes) {
        type->codec->codes->lines(&plain[at], before.data());
        type->codec->codes->lines(&coupled[at], after.data());
        for (size_t v = 0; v < type->values; ++v) {
          ASSERT_EQ(before[v].step, after[v].step) << type->name;
          ASSERT_EQ(before[v].low, after[v].low) << type->name;
        }
      }
    }
  }
}

TEST(CoupledRounding, EndsWhereNoCodeAloneIsBetter) {
  const BlockType& type = *find_block_type("Q4_0");
  const auto values = random_floats(3, 2 * kColumns);
  const auto blocks = encode(type, values, {{}, moments().along_moments()});
  const double cost = moments().cost(type, blocks, values);
  for (size_t at = 0; at < blocks.size(); at += 7 * type.bytes) {
    for (const int step : {-1, 1}) {
      auto moved = blocks;
      const int low = std::to_integer<int>(moved[at + 2]) & 15;
      if (low + step < 0 || low + step > 15) continue;
      moved[at + 2] = static_cast<std::byte>(std::to_integer<int>(moved[at + 2]) + step);
      EXPECT_GE(moments().cost(type, moved, values), cost * (1 - 1e-5)) << at;
    }
  }
}

TEST(CoupledRounding, OfARowDoesNotDependOnTheRowsBesideIt) {
  const auto values = random_floats(4, 21 * kColumns);
  for (const BlockType* type : types_with_codes()) {
    for (const Coupling& coupling : {moments().along_directions(), moments().along_moments()}) {
      const auto together = encode(*type, values, {{}, coupling});
      const size_t row_bytes = kColumns / type->values * type->bytes;
      for (size_t row = 0; row < 21; ++row) {
        const auto alone = encode(*type, std::span(values).subspan(row * kColumns, kColumns), {{}, coupling});
        ASSERT_TRUE(std::equal(alone.begin(), alone.end(), &together[row * row_bytes])) << type->name << " " << row;
      }
    }
  }
}

TEST(CoupledRounding, WithoutDirectionsChangesNothing) {
  // The second half of the columns was never used: nothing is known of them, and they keep their codes as well.
  std::vector<float> diagonal(kColumns, 1.0F), directions(kColumns * kDirections, 0.0F);
  std::fill(diagonal.begin() + kColumns / 2, diagonal.end(), 0.0F);
  const auto values = random_floats(5, 3 * kColumns);
  for (const BlockType* type : types_with_codes())
    EXPECT_EQ(encode(*type, values, {{}, {directions, diagonal, {}}}), encode(*type, values, {})) << type->name;
}

TEST(CoupledRounding, OfColumnsThatTheirSketchOverstatesStillLowersTheCost) {
  // Directions that explain a little more than the sums of squares hold.
  auto less = moments().diagonal;
  for (float& sum : less) sum *= 0.9F;
  const auto values = random_floats(6, 4 * kColumns);
  const BlockType& type = *find_block_type("Q4_K");
  EXPECT_LT(moments().cost(type, encode(type, values, {{}, {moments().directions, less, {}}}), values),
            0.7 * moments().cost(type, encode(type, values, {}), values));
}

TEST(CoupledRounding, TypesOfUnevenLevelsStayAsTheyAre) {
  const auto values = random_floats(8, 2 * kColumns);
  for (const BlockType& type : block_types()) {
    if (!type.codec || !type.codec->encode || type.codec->codes) continue;
    EXPECT_EQ(encode(type, values, {{}, moments().along_moments()}), encode(type, values, {})) << type.name;
  }
}

TEST(CoupledRounding, ExtremesGiveFiniteValues) {
  for (const BlockType* type : types_with_codes()) {
    for (const float size : {1e-42F, 1e-20F, 1e4F, 1e9F, 1e30F}) {
      auto values = random_floats(9, 2 * kColumns);
      for (float& value : values) value *= size;
      for (const float weight : {1e-38F, 1e-20F, 1e18F}) {
        auto directions = moments().directions, diagonal = moments().diagonal;
        for (float& value : directions) value *= weight;
        for (float& value : diagonal) value *= weight * weight;
        std::vector<float> decoded(values.size());
        decode_values(*type, encode(*type, values, {{}, {directions, diagonal, {}}}).data(), decoded.size(),
                      decoded.data());
        for (const float value : decoded) ASSERT_TRUE(std::isfinite(value)) << type->name << " " << size;
      }
    }
  }
}

}  // namespace
}  // namespace terrace::format
