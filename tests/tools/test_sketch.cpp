// Sketches of where a matrix's inputs lie, and the directions found from them.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "support/numbers.h"
#include "tools/sketch.h"

namespace terrace::tools {
namespace {

using ::testing::Each;
using ::testing::IsEmpty;
using testing::random_floats;

constexpr size_t kColumns = 256, kWidth = format::kDirections;

struct Inputs {
  std::vector<float> x;  // [count][kColumns]
  size_t count;
  std::vector<double> squares = std::vector<double>(kColumns), sketch = std::vector<double>(kColumns * kWidth);

  Inputs(std::vector<float> values, double weight = 1) : x(std::move(values)), count(x.size() / kColumns) {
    Sketcher(kColumns).add(x.data(), count, kColumns, weight, sketch);
    for (size_t i = 0; i < x.size(); ++i) squares[i % kColumns] += double{x[i]} * x[i];
  }
  std::vector<float> directions() const { return directions_of(squares, sketch, static_cast<double>(count)); }
};

/// Inputs that are sums of a few fixed vectors, and of noise.
std::vector<float> along_few(size_t count, size_t dimensions, float noise, uint32_t seed) {
  const auto vectors = random_floats(1, dimensions * kColumns), amounts = random_floats(seed, count * dimensions);
  auto x = random_floats(seed + 1, count * kColumns);
  for (float& value : x) value *= noise;
  for (size_t n = 0; n < count; ++n)
    for (size_t k = 0; k < dimensions; ++k)
      for (size_t i = 0; i < kColumns; ++i)
        x[n * kColumns + i] += amounts[n * dimensions + k] * vectors[k * kColumns + i];
  return x;
}

double moment(const Inputs& inputs, size_t i, size_t j) {
  double sum = 0;
  for (size_t n = 0; n < inputs.count; ++n) sum += double{inputs.x[n * kColumns + i]} * inputs.x[n * kColumns + j];
  return sum;
}

TEST(Sketch, SignsAreBitsOfSplitmix64) {
  // The generator's first two outputs from seed 0, as published: e220a8397b1dcdaf, 6e789e6aa1b965f4.
  for (size_t direction = 0; direction < kWidth; ++direction) {
    EXPECT_EQ(sketch_sign(0, direction) < 0, (0xE220A8397B1DCDAFU >> direction & 1) == 1) << direction;
    EXPECT_EQ(sketch_sign(1, direction) < 0, (0x6E789E6AA1B965F4U >> direction & 1) == 1) << direction;
  }
}

TEST(Sketch, IsTheMomentsTimesTheSigns) {
  const Inputs inputs(random_floats(2, 70 * kColumns), 0.5);
  for (const size_t i : {0U, 5U, 255U}) {
    for (const size_t k : {0U, 9U, 63U}) {
      double sum = 0;
      for (size_t j = 0; j < kColumns; ++j) sum += 0.5 * moment(inputs, i, j) * double{sketch_sign(j, k)};
      EXPECT_NEAR(inputs.sketch[i * kWidth + k], sum, 1e-3) << i << " " << k;
    }
  }
}

TEST(Sketch, FindsAllOfWhatLiesInFewDimensions) {
  const Inputs inputs(along_few(300, 10, 0, 3));
  const auto directions = inputs.directions();
  ASSERT_EQ(directions.size(), kColumns * kWidth);
  double error = 0, whole = 0;
  for (size_t i = 0; i < kColumns; ++i) {
    for (size_t j = 0; j < kColumns; ++j) {
      double found = 0;
      for (size_t k = 0; k < kWidth; ++k) found += double{directions[i * kWidth + k]} * directions[j * kWidth + k];
      const double expected = moment(inputs, i, j) / 300;
      error += std::pow(found - expected, 2);
      whole += std::pow(expected, 2);
    }
  }
  EXPECT_LT(std::sqrt(error / whole), 1e-3);
}

TEST(Sketch, DirectionsExplainNoMoreThanThereIs) {
  const Inputs inputs(along_few(1000, 30, 0.5F, 4));
  const auto directions = inputs.directions();
  ASSERT_FALSE(directions.empty());
  double explained = 0, whole = 0;
  for (size_t i = 0; i < kColumns; ++i) {
    double part = 0;
    for (size_t k = 0; k < kWidth; ++k) part += std::pow(directions[i * kWidth + k], 2.0);
    EXPECT_LE(part, 1.01 * inputs.squares[i] / 1000) << i;
    explained += part;
    whole += inputs.squares[i] / 1000;
  }
  EXPECT_GT(explained, 0.95 * whole);
}

TEST(Sketch, OfInputsThatLieEverywhereHasNoDirections) {
  EXPECT_THAT(Inputs(random_floats(5, 2000 * kColumns)).directions(), Each(0.0F));
}

TEST(Sketch, OfInputsThatAreAllZeroHasNoDirections) {
  EXPECT_THAT(Inputs(std::vector<float>(3 * kColumns)).directions(), Each(0.0F));
}

TEST(Sketch, OfOtherSumsIsNoted) {
  Inputs inputs(along_few(300, 10, 0.1F, 6)), scaled = inputs, shuffled = inputs;
  for (double& value : scaled.sketch) value *= 2;
  EXPECT_THAT(scaled.directions(), IsEmpty());
  for (double& value : scaled.sketch) value *= -1;
  EXPECT_THAT(scaled.directions(), IsEmpty());
  std::shuffle(shuffled.sketch.begin(), shuffled.sketch.end(), std::mt19937(7));
  EXPECT_THAT(shuffled.directions(), IsEmpty());
  inputs.squares.assign(kColumns, 0);
  EXPECT_THAT(inputs.directions(), IsEmpty());
}

}  // namespace
}  // namespace terrace::tools
