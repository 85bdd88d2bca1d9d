// Codecs against recorded blocks: tests/data/fixtures/quants has, per type, rows of encoded bytes and their values.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

#include "format/block_type.h"
#include "support/files.h"

namespace terrace::format {
namespace {

using testing::Arrays;
using testing::fixture;

std::vector<const BlockType*> codec_types() {
  std::vector<const BlockType*> types;
  for (const BlockType& type : block_types())
    if (type.codec) types.push_back(&type);
  return types;
}

std::vector<float> decode(const BlockType& type, std::span<const std::byte> bytes) {
  std::vector<float> values(bytes.size() / type.bytes * type.values);
  for (size_t i = 0; i < bytes.size() / type.bytes; ++i)
    type.codec->decode(bytes.data() + i * type.bytes, values.data() + i * type.values);
  return values;
}

TEST(BlockTypes, DecodeTheRecordedBytesBitForBit) {
  for (const BlockType* type : codec_types()) {
    if (type->name == "F32" || is_own_type(type->code)) continue;  // recorded are llama.cpp's
    const Arrays arrays(fixture("quants/" + std::string(type->name) + ".safetensors"));
    const auto expected = arrays.values<float>("values");
    const auto values = decode(*type, arrays["bytes"].data);
    ASSERT_EQ(values.size(), expected.size()) << type->name;
    for (size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(expected[i])) << type->name << " " << i;
  }
}

TEST(BlockTypes, OwnTypesAreAScaleAndCodes) {
  const auto block_of = [](size_t bytes, std::initializer_list<int> codes) {
    std::vector<std::byte> block(bytes);
    block[1] = std::byte{0xc0};  // the half -2
    size_t at = 2;
    for (const int code : codes) block[at++] = static_cast<std::byte>(code);
    return block;
  };
  const auto q4 = decode(*find_block_type("Q4SG128"), block_of(66, {0x2f}));
  EXPECT_EQ(q4[0], -2 * (15 - 8));
  EXPECT_EQ(q4[16], -2 * (2 - 8));
  EXPECT_EQ(q4[1], -2 * (0 - 8));
  EXPECT_EQ(decode(*find_block_type("Q4C"), block_of(130, {0x2f}))[16], 12);
  EXPECT_EQ(decode(*find_block_type("Q8G128"), block_of(130, {0x80, 3}))[0], 256);
  EXPECT_EQ(decode(*find_block_type("Q8C"), block_of(258, {0x80, 3}))[1], -6);
  const auto nf4 = decode(*find_block_type("NF4C"), block_of(130, {0x0f}));
  EXPECT_EQ(nf4[0], -2 * 127);
  EXPECT_EQ(nf4[16], 2 * 127);
}

TEST(BlockTypes, F32IsItsBytes) {
  const std::vector<float> values{0.0F, -0.0F, 1.5F, -3e38F, 1e-45F};
  EXPECT_EQ(decode(*find_block_type("F32"), std::as_bytes(std::span(values))), values);
}

TEST(BlockTypes, AreFoundByCodeAndByNameInAnyCase) {
  for (const BlockType& type : block_types()) {
    EXPECT_EQ(find_block_type(type.code), &type);
    EXPECT_EQ(find_block_type(type.name), &type);
    std::string lower(type.name);
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    EXPECT_EQ(find_block_type(lower), &type);
  }
  EXPECT_EQ(find_block_type(4), nullptr);
  EXPECT_EQ(find_block_type(~0U), nullptr);
  EXPECT_EQ(find_block_type(""), nullptr);
  EXPECT_EQ(find_block_type("Q4_"), nullptr);
}

TEST(BlockTypes, PanelsAreHardlyLargerThanTheFile) {
  for (const BlockType* type : codec_types())
    EXPECT_LE(type->codec->panel_bytes, type->bytes * kPanelRows * 102 / 100) << type->name;
}

TEST(BlockTypes, RandomBlocksGetTheWantedDeviation) {
  std::mt19937 random(1);
  for (const BlockType* type : codec_types()) {
    std::vector<std::byte> bytes(type->bytes * (65536 / type->values));
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    for (size_t i = 0; i < bytes.size(); i += type->bytes) type->codec->set_deviation(bytes.data() + i, 0.25F);
    double sum = 0;
    double squares = 0;
    const auto values = decode(*type, bytes);
    for (const float value : values) {
      sum += value;
      squares += double{value} * value;
    }
    const double mean = sum / static_cast<double>(values.size());
    EXPECT_NEAR(std::sqrt(squares / static_cast<double>(values.size())), 0.25, 0.025) << type->name;
    EXPECT_NEAR(mean, 0, 0.03) << type->name;
  }
}

}  // namespace
}  // namespace terrace::format
