#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/half.h"

namespace terrace {
namespace {

/// What a half's bits mean, from the definition.
long double meaning(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  const long double magnitude = exponent == 0 ? std::ldexp(static_cast<long double>(fraction), -24)
                                              : std::ldexp(static_cast<long double>(1024 + fraction), exponent - 25);
  return half & 0x8000 ? -magnitude : magnitude;
}

/// The nearest half by search among neighbours, ties to the even one; 65520 and above is infinity.
uint16_t nearest(float value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const long double magnitude = std::fabs(static_cast<long double>(value));
  if (magnitude >= 65520) return sign | 0x7c00;
  uint16_t low = 0;
  uint16_t high = 0x7c00;
  while (high - low > 1) {
    const auto middle = static_cast<uint16_t>((low + high) / 2);
    (meaning(middle) <= magnitude ? low : high) = middle;
  }
  // The one above the largest finite half would be 65536, which the formula yields for 0x7c00 as well.
  const long double below = magnitude - meaning(low);
  const long double above = meaning(high) - magnitude;
  return sign | (below < above || (below == above && low % 2 == 0) ? low : high);
}

TEST(Half, EachHalfMeansWhatTheFormatSays) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float value = half_to_float(half);
    if ((half & 0x7c00) != 0x7c00) {
      ASSERT_EQ(static_cast<long double>(value), meaning(half)) << bits;
    } else {
      ASSERT_TRUE(half & 1023 ? std::isnan(value) : std::isinf(value)) << bits;
    }
    ASSERT_EQ(std::signbit(value), half >> 15 == 1) << bits;
  }
}

TEST(Half, EachHalfComesBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const bool is_nan = (half & 0x7fff) > 0x7c00;
    ASSERT_EQ(float_to_half(half_to_float(half)), is_nan ? half | 0x200 : half) << bits;
  }
}

TEST(Half, EachBf16ComesBack) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const bool is_nan = (half & 0x7fff) > 0x7f80;
    ASSERT_EQ(float_to_bf16(bf16_to_float(half)), is_nan ? half | 64 : half) << bits;
  }
}

TEST(Half, NarrowingRoundsToNearestEven) {
  for (uint32_t bits = 0; bits < 0x7c00; ++bits) {
    const float below = half_to_float(static_cast<uint16_t>(bits));
    const float above = bits == 0x7bff ? 65536.0F : half_to_float(static_cast<uint16_t>(bits + 1));
    const float middle = (below + above) / 2;  // exact: floats have 13 bits more
    for (const float value : {below, std::nextafter(below, 1e9F), std::nextafter(middle, 0.0F), middle,
                              std::nextafter(middle, 1e9F), std::nextafter(above, 0.0F)}) {
      ASSERT_EQ(float_to_half(value), nearest(value)) << value;
      ASSERT_EQ(float_to_half(-value), nearest(-value)) << value;
    }
  }
}

TEST(Half, NarrowingOfAnyFloat) {
  std::mt19937 random(1);
  for (int i = 0; i < 300000; ++i) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isnan(value)) {
      ASSERT_TRUE(std::isnan(half_to_float(float_to_half(value))));
      ASSERT_TRUE(std::isnan(bf16_to_float(float_to_bf16(value))));
    } else {
      ASSERT_EQ(float_to_half(value), nearest(value)) << value;
    }
  }
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float value : {infinity, std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min(), 0.0F,
                            65504.0F, 65519.9F, 65520.0F, 0x1p-24F, 0x1p-25F, 0x1.8p-25F, 0x1p-14F}) {
    ASSERT_EQ(float_to_half(value), nearest(value)) << value;
    ASSERT_EQ(float_to_half(-value), nearest(-value)) << value;
  }
}

TEST(Half, Bf16RoundsToNearestEven) {
  std::mt19937 random(2);
  for (int i = 0; i < 300000; ++i) {
    const auto bits = static_cast<uint32_t>(i % 3 ? random() : random() & 0xffff8000);
    const auto value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) continue;
    const auto low = static_cast<uint16_t>(bits >> 16);  // towards zero
    const uint32_t rest = bits & 0xffff;
    const bool up = rest > 0x8000 || (rest == 0x8000 && low % 2 == 1);
    ASSERT_EQ(float_to_bf16(value), low + (up ? 1 : 0)) << value;
  }
}

}  // namespace
}  // namespace terrace
