#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "compute/rope.h"

namespace terrace::compute {
namespace {

void expect_close(double angle, double tolerance) {
  const CosSin found = cos_sin(angle);
  const auto exact = static_cast<long double>(angle);
  ASSERT_NEAR(found.cos, static_cast<double>(std::cos(exact)), tolerance) << angle;
  ASSERT_NEAR(found.sin, static_cast<double>(std::sin(exact)), tolerance) << angle;
}

TEST(CosSin, IsExactToTwelvePlacesUpToAMillion) {
  std::mt19937_64 random(1);
  for (const double largest : {1.0, 100.0, 1e4, 1e6}) {
    std::uniform_real_distribution<double> angles(-largest, largest);
    for (int i = 0; i < 100000; ++i) expect_close(angles(random), 1e-12);
  }
  for (int i = 0; i <= 1000000; i += 7) expect_close(i, 1e-12);
}

TEST(CosSin, QuarterTurnsAndTheirNeighbours) {
  for (int turn = 0; turn < 600000; turn += turn < 100 ? 1 : 997) {
    const double angle = turn * (std::numbers::pi / 2);
    for (const double near :
         {angle, std::nextafter(angle, 1e9), std::nextafter(angle, -1e9), angle + std::numbers::pi / 4}) {
      expect_close(near, 1e-12);
      expect_close(-near, 1e-12);
    }
  }
}

TEST(CosSin, IsExactToTwelvePlacesUpToTwoToTheThirty) {
  std::mt19937_64 random(2);
  std::uniform_real_distribution<double> angles(-0x1p30, 0x1p30);
  for (int i = 0; i < 100000; ++i) expect_close(angles(random), 1e-12);
}

TEST(CosSin, ZeroIsExact) {
  EXPECT_EQ(cos_sin(0).cos, 1);
  EXPECT_EQ(cos_sin(0).sin, 0);
}

}  // namespace
}  // namespace terrace::compute
