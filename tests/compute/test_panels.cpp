// What is placed in panels is what the file's blocks decode to.
#include <gtest/gtest.h>

#include "compute/matrices.h"

namespace terrace::compute {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

void expect_decodes(const Encoded& matrix) {
  for (const Kernels* kernels : usable_kernels()) {
    SCOPED_TRACE(std::string(kernels->name) + " " + std::string(matrix.type->name));
    const auto owner = backend(kernels->name);
    const auto placed = place(*owner, matrix);
    std::vector<float> values(matrix.inputs);
    for (size_t row = 0; row < matrix.rows; ++row) {
      placed->kernels->decode_lane(placed->panel(row / kPanel), matrix.inputs, row % kPanel, values.data());
      ASSERT_TRUE(same_bits(values, matrix.row(row))) << "row " << row;
    }
    for (size_t lane = matrix.rows % kPanel; lane != 0 && lane < kPanel; ++lane) {
      placed->kernels->decode_lane(placed->panel(matrix.rows / kPanel), matrix.inputs, lane, values.data());
      for (const float value : values) ASSERT_EQ(value, 0.0F) << "lane " << lane << " lies past the last row";
    }
  }
}

TEST(Panels, RecordedBlocksDecodeBitForBit) {
  for (const auto* type : computable_types())
    if (is_recorded(*type)) expect_decodes(recorded_matrix(*type));
}

TEST(Panels, RandomBlocksDecodeBitForBit) {
  for (const auto* type : computable_types())
    for (const size_t rows : {1, 15, 16, 17, 40}) expect_decodes(random_matrix(*type, rows, 512));
}

TEST(Panels, ThreadsPlaceTheSame) {
  for (const auto* type : computable_types()) {
    const Encoded matrix = random_matrix(*type, 1000, 1024);
    const auto one = backend("auto", 1);
    const auto three = backend("auto", 3);
    const auto a = place(*one, matrix);
    const auto b = place(*three, matrix);
    ASSERT_EQ(std::memcmp(a->panel(0), b->panel(0), a->panels() * a->panel_bytes()), 0) << type->name;
  }
}

TEST(Panels, WhatCannotBeComputedIsNotPlaced) {
  const auto owner = backend("auto");
  const std::vector<std::byte> bytes(1000);
  EXPECT_EQ(owner->place({9, 1, 256, bytes}), nullptr) << "a type without codec";
  EXPECT_EQ(owner->place({4, 1, 32, bytes}), nullptr) << "no type";
  EXPECT_EQ(owner->place({8, 1, 33, bytes}), nullptr) << "half a block";
}

}  // namespace
}  // namespace terrace::compute
