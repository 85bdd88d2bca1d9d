// Encoders against recorded blocks: tests/data/fixtures/quants has, per type, source rows, the importance of their
// columns, and what llama.cpp's encoder made of them.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "format/encode.h"
#include "support/files.h"

namespace terrace::format {
namespace {

using testing::Arrays;
using testing::fixture;

std::vector<const BlockType*> encodable_types() {
  std::vector<const BlockType*> types;
  for (const BlockType& type : block_types())
    if (type.codec && type.codec->encode) types.push_back(&type);
  return types;
}

std::vector<std::byte> encode(const BlockType& type, std::span<const float> values, size_t columns,
                              std::span<const float> importance = {}) {
  std::vector<std::byte> blocks(values.size() / type.values * type.bytes);
  encode_rows(type, values.data(), values.size() / columns, columns, {importance, {}}, blocks.data());
  return blocks;
}

std::vector<float> decode(const BlockType& type, std::span<const std::byte> blocks) {
  std::vector<float> values(blocks.size() / type.bytes * type.values);
  decode_values(type, blocks.data(), values.size(), values.data());
  return values;
}

double weighted_error(std::span<const float> actual, std::span<const float> expected, std::span<const float> weights) {
  double sum = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    const double difference = double{actual[i]} - expected[i];
    sum += weights[i % weights.size()] * difference * difference;
  }
  return std::sqrt(sum);
}

TEST(Encoders, ThereIsOneForEveryTypeThatIsDecoded) {
  for (const BlockType& type : block_types()) {
    if (type.codec) {
      EXPECT_NE(type.codec->encode, nullptr) << type.name;
    }
  }
}

TEST(Encoders, AreNoFurtherFromTheSourceThanTheRecordedBlocks) {
  for (const BlockType* type : encodable_types()) {
    if (type->name == "F32" || is_own_type(type->code)) continue;  // recorded are llama.cpp's
    const Arrays arrays(fixture("quants/" + std::string(type->name) + ".safetensors"));
    const auto source = arrays.values<float>("source"), importance = arrays.values<float>("importance");
    const auto recorded = arrays.values<float>("values");
    const auto ours = decode(*type, encode(*type, source, importance.size(), importance));
    EXPECT_LE(weighted_error(ours, source, importance), weighted_error(recorded, source, importance)) << type->name;
    // The same without the row that has an outlier, whose error outweighs all others.
    const auto others = [&](std::span<const float> all) { return all.subspan(2 * importance.size()); };
    EXPECT_LE(weighted_error(others(ours), others(source), importance),
              weighted_error(others(recorded), others(source), importance))
        << type->name;
  }
}

TEST(Encoders, ReproduceWhatTheyDecoded) {
  // Values that a block holds exactly come back: encoding again changes nothing, or hardly.
  for (const BlockType* type : encodable_types()) {
    if (type->name == "F32" || is_own_type(type->code)) continue;
    const Arrays arrays(fixture("quants/" + std::string(type->name) + ".safetensors"));
    const auto source = arrays.values<float>("values");
    const std::vector<float> ones(source.size() / 6, 1.0F);
    const auto again = decode(*type, encode(*type, source, ones.size(), ones));
    const std::vector<float> zeros(source.size());
    EXPECT_LE(weighted_error(again, source, ones), 0.02 * weighted_error(zeros, source, ones)) << type->name;
  }
}

TEST(Encoders, ZerosStayZeros) {
  for (const BlockType* type : encodable_types()) {
    const std::vector<float> zeros(4 * size_t{256});
    const auto values = decode(*type, encode(*type, zeros, 256));
    for (const float value : values) ASSERT_EQ(std::fabs(value), 0.0F) << type->name;
  }
}

TEST(Encoders, ExtremesGiveFiniteValues) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (const BlockType* type : encodable_types()) {
    for (const float size : {1e-42F, 1e-20F, 1e-8F, 1e4F, 1e9F, 1e18F, 3e38F}) {
      std::vector<float> values(512);
      for (float& value : values) value = std::clamp(normal(random), -1.0F, 1.0F) * size;
      for (const std::vector<float>& importance :
           {std::vector<float>{}, std::vector<float>(256, 0.0F), std::vector<float>(256, 1e30F)}) {
        for (const float value : decode(*type, encode(*type, values, 256, importance)))
          ASSERT_TRUE(std::isfinite(value) || (type->name == "F16" && size > 65504)) << type->name << " " << size;
      }
    }
  }
}

TEST(Encoders, TypesPerChannelHaveOneScalePerRow) {
  std::mt19937 random(6);
  std::normal_distribution<float> normal;
  std::vector<float> values(2 * size_t{1024});
  for (size_t i = 0; i < values.size(); ++i) values[i] = normal(random) * (i < 1024 ? 1.0F : 0.1F);
  for (const std::string_view name : {"NF4C", "Q4C", "Q8C"}) {
    const BlockType& type = *find_block_type(name);
    const auto blocks = encode(type, values, 1024);
    for (size_t b = 0; b < 8; ++b) {
      const size_t first = b / 4 * 4;
      EXPECT_EQ(std::memcmp(&blocks[b * type.bytes], &blocks[first * type.bytes], 2), 0) << name << " " << b;
    }
    EXPECT_NE(std::memcmp(&blocks[0], &blocks[4 * type.bytes], 2), 0) << name;
    const auto decoded = decode(type, blocks);
    const std::vector<float> ones(1024, 1.0F), zeros(values.size());
    EXPECT_LT(weighted_error(decoded, values, ones),
              (name == "Q8C" ? 0.01 : 0.15) * weighted_error(zeros, values, ones));
  }
}

TEST(Encoders, ImportantColumnsAreKeptBetter) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> values(256 * size_t{64});
  for (float& value : values) value = normal(random);
  std::vector<float> important(256, 1.0F);
  for (size_t i = 0; i < 256; i += 4) important[i] = 100.0F;
  for (const BlockType* type : encodable_types()) {
    if (type->values == 1 || type->name == "Q1_0") continue;
    const auto error = [&](std::span<const float> importance) {
      const auto decoded = decode(*type, encode(*type, values, 256, importance));
      double sum = 0;
      for (size_t i = 0; i < values.size(); i += 4) sum += (decoded[i] - values[i]) * (decoded[i] - values[i]);
      return sum;
    };
    EXPECT_LT(error(important), error(std::vector<float>(256, 1.0F))) << type->name;
  }
}

}  // namespace
}  // namespace terrace::format
