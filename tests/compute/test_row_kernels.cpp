// Kernels over one row: the same bits from every instruction set, and close to exact arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numbers>

#include "base/half.h"
#include "compute/matrices.h"

namespace terrace::compute {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::vector<ActivationBlock> quantized(const Kernels& kernels, const std::vector<float>& x) {
  std::vector<ActivationBlock> blocks(x.size() / kBlock);
  kernels.quantize(x.data(), blocks.size(), blocks.data());
  return blocks;
}

void expect_sums(const ActivationBlock& block) {
  int first = 0;
  int second = 0;
  for (int i = 0; i < 16; ++i) {
    first += block.codes[i];
    second += block.codes[i + 16];
  }
  const int sum = first + second;
  EXPECT_EQ(block.scaled_sum, block.scale * static_cast<float>(sum));
  EXPECT_EQ(block.minus_8_sums, -8 * sum);
  EXPECT_EQ(block.minus_16_sums, -16 * sum);
  EXPECT_EQ(block.minus_128_sums, -128 * sum);
  EXPECT_EQ(block.minus_32_sums[0], -32 * first);
  EXPECT_EQ(block.minus_32_sums[1], -32 * second);
  EXPECT_EQ(block.scaled_first_sum, block.scale * static_cast<float>(first));
}

TEST(Quantize, CodesAreTheNearestOnesWithTiesToEven) {
  std::vector<float> x(kBlock);
  for (size_t i = 0; i < kBlock; ++i) x[i] = static_cast<float>(i) - 15.5F;
  x[0] = 127;  // makes the scale 1
  x[1] = -126.5F;
  x[2] = 0.49999997F;
  for (const Kernels* kernels : usable_kernels()) {
    const auto block = quantized(*kernels, x).front();
    EXPECT_EQ(block.scale, 1.0F);
    for (size_t i = 0; i < kBlock; ++i) EXPECT_EQ(block.codes[i], std::nearbyint(x[i])) << kernels->name << " " << x[i];
    expect_sums(block);
  }
}

TEST(Quantize, FollowsItsFormulaForAllMagnitudes) {
  std::mt19937 random(3);
  for (const float deviation : {1.0F, 1e-3F, 1e-20F, 1e-30F, 1e5F, 1e30F, 1e38F / 5}) {
    const auto x = random_floats(random, 40 * kBlock, deviation);
    for (const Kernels* kernels : usable_kernels()) {
      const auto blocks = quantized(*kernels, x);
      for (size_t b = 0; b < blocks.size(); ++b) {
        float largest = 0;
        for (size_t i = 0; i < kBlock; ++i) largest = std::max(largest, std::fabs(x[b * kBlock + i]));
        ASSERT_EQ(blocks[b].scale, largest / 127.0F);
        for (size_t i = 0; i < kBlock; ++i)
          ASSERT_EQ(blocks[b].codes[i], std::nearbyint(x[b * kBlock + i] * (127.0F / largest))) << kernels->name;
        expect_sums(blocks[b]);
      }
    }
  }
}

TEST(Quantize, ZerosAndVanishingRowsHaveZeroCodes) {
  for (const float value : {0.0F, -0.0F, 1e-45F, -1e-40F, 1e-38F, 3e-37F}) {
    for (const Kernels* kernels : usable_kernels()) {
      const auto block = quantized(*kernels, std::vector<float>(kBlock, value)).front();
      for (const int8_t code : block.codes) ASSERT_EQ(code, 0) << kernels->name << " " << value;
      EXPECT_LT(block.scale, 1e-36F);
      expect_sums(block);
    }
  }
}

TEST(Quantize, WhatIsNoNumberGivesTheSameCodesEverywhere) {
  for (const float value : {kInfinity, -kInfinity, kNan}) {
    for (size_t at = 0; at < kBlock; ++at) {
      std::vector<float> x(kBlock, 0.5F);
      x[at] = value;
      const auto expected = quantized(kScalarKernels, x).front();
      if (std::isinf(value)) {
        EXPECT_TRUE(std::isinf(expected.scale)) << "the result is no number either";
      }
      for (const Kernels* kernels : usable_kernels()) {
        const auto block = quantized(*kernels, x).front();
        if (std::isinf(value)) {
          ASSERT_EQ(std::memcmp(block.codes, expected.codes, kBlock), 0) << kernels->name;
        }
        ASSERT_EQ(block.minus_8_sums % 8, 0);
      }
    }
  }
}

TEST(RmsNorm, AnySizeWithAndWithoutGain) {
  std::mt19937 random(5);
  for (size_t size = 1; size <= 100; ++size) {
    const auto x = random_floats(random, size, size % 3 ? 1.0F : 1e3F);
    const auto gain = random_floats(random, size);
    for (const float* g : {static_cast<const float*>(nullptr), gain.data()}) {
      std::vector<float> expected(size);
      kScalarKernels.rms_norm(x.data(), g, size, 1e-5F, expected.data());
      double squares = 0;
      for (const float value : x) squares += double{value} * value;
      const double factor = 1 / std::sqrt(squares / static_cast<double>(size) + 1e-5);
      for (size_t i = 0; i < size; ++i) {
        const double exact = x[i] * factor * (g ? g[i] : 1);
        ASSERT_NEAR(expected[i], exact, std::fabs(exact) * 1e-6) << size;
      }
      for (const Kernels* kernels : usable_kernels()) {
        std::vector<float> out(size + 1, 99.0F);
        kernels->rms_norm(x.data(), g, size, 1e-5F, out.data());
        ASSERT_TRUE(same_bits(std::span(out).first(size), expected)) << kernels->name << " " << size;
        ASSERT_EQ(out[size], 99.0F) << "written past the end";
        std::vector<float> in_place = x;
        kernels->rms_norm(in_place.data(), g, size, 1e-5F, in_place.data());
        ASSERT_TRUE(same_bits(in_place, expected)) << kernels->name << " in place " << size;
      }
    }
  }
}

TEST(RmsNorm, ZerosStayZeros) {
  const std::vector<float> zeros(33);
  for (const Kernels* kernels : usable_kernels()) {
    std::vector<float> out(33, 1.0F);
    kernels->rms_norm(zeros.data(), nullptr, 33, 1e-6F, out.data());
    EXPECT_EQ(out, zeros);
  }
}

double exact_gate(GateFunction function, double x, double up) {
  if (function == GateFunction::silu) return x / (1 + std::exp(-x)) * up;
  if (function == GateFunction::gelu_tanh)
    return x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x))) / 2 * up;
  const double limited = std::min(x, 7.0);
  return limited / (1 + std::exp(-1.702 * limited)) * (std::clamp(up, -7.0, 7.0) + 1);
}

TEST(Gate, FollowsItsFunction) {
  std::vector<float> x;
  for (float value = -120; value <= 120; value += 0.0625F) x.push_back(value);
  for (const float value : {0.0F, -0.0F, 1e-30F, 1e4F, -1e4F, 1e30F, -1e30F}) x.push_back(value);
  std::mt19937 random(6);
  const auto up = random_floats(random, x.size(), 5);
  for (const GateFunction function : {GateFunction::silu, GateFunction::gelu_tanh, GateFunction::clamped_swiglu}) {
    std::vector<float> expected(x.size());
    kScalarKernels.gate(function, x.data(), up.data(), x.size(), expected.data());
    for (size_t i = 0; i < x.size(); ++i) {
      const double exact = exact_gate(function, x[i], up[i]);
      ASSERT_NEAR(expected[i], exact, std::fabs(exact) * 2e-6 + 1e-8 * (1 + std::fabs(up[i]))) << x[i];
    }
    for (const Kernels* kernels : usable_kernels()) {
      for (const size_t size : {x.size(), size_t{1}, size_t{15}, size_t{16}, size_t{17}, size_t{45}}) {
        std::vector<float> out(size + 1, 99.0F);
        kernels->gate(function, x.data(), up.data(), size, out.data());
        ASSERT_TRUE(same_bits(std::span(out).first(size), std::span(expected).first(size)))
            << kernels->name << " " << size;
        ASSERT_EQ(out[size], 99.0F) << "written past the end";
      }
    }
  }
}

TEST(Activate, FollowsItsFunction) {
  std::mt19937 random(9);
  const auto x = random_floats(random, 301, 20);
  for (const Activation activation : {Activation::none, Activation::silu, Activation::sigmoid}) {
    std::vector<float> expected = x;
    kScalarKernels.activate(activation, expected.data(), expected.size());
    for (size_t i = 0; i < x.size(); ++i) {
      const double sigmoid = 1 / (1 + std::exp(-double{x[i]}));
      const double exact = activation == Activation::none   ? x[i]
                           : activation == Activation::silu ? x[i] * sigmoid
                                                            : sigmoid;
      ASSERT_NEAR(expected[i], exact, std::fabs(exact) * 2e-6 + 1e-30) << x[i];
    }
    for (const Kernels* kernels : usable_kernels()) {
      std::vector<float> out = x;
      kernels->activate(activation, out.data(), out.size());
      ASSERT_TRUE(same_bits(out, expected)) << kernels->name;
    }
  }
}

TEST(SoftCap, IsTheHyperbolicTangentAndTheSameEverywhere) {
  std::mt19937 random(12);
  for (const float cap : {6.0F, 30.0F}) {
    auto x = random_floats(random, 53, 2 * cap);
    x.insert(x.end(), {0.0F, -0.0F, 1e-6F, 1e30F, -1e30F, kInfinity, -kInfinity, kNan});
    auto expected = x;
    kScalarKernels.soft_cap(cap, expected.data(), expected.size());
    for (size_t i = 0; i + 1 < x.size(); ++i)
      EXPECT_NEAR(expected[i], cap * std::tanh(x[i] / cap), 2e-7F * cap) << x[i];
    for (const Kernels* kernels : usable_kernels()) {
      auto out = x;
      kernels->soft_cap(cap, out.data(), out.size());
      EXPECT_TRUE(same_bits(std::span(out).first(x.size() - 1), std::span(expected).first(x.size() - 1)))
          << kernels->name;
    }
  }
}

TEST(Softmax, AddsUpToOneAndIsTheSameEverywhere) {
  std::mt19937 random(10);
  for (const size_t size : {1, 2, 10, 16, 17, 100}) {
    const auto x = random_floats(random, size, 4);
    std::vector<float> expected = x;
    kScalarKernels.softmax(expected.data(), size);
    double sum = 0, exact_sum = 0;
    for (const float value : expected) sum += value;
    for (const float value : x) exact_sum += std::exp(double{value});
    EXPECT_NEAR(sum, 1, 1e-6);
    for (size_t i = 0; i < size; ++i) ASSERT_NEAR(expected[i], std::exp(double{x[i]}) / exact_sum, 1e-6);
    for (const Kernels* kernels : usable_kernels()) {
      std::vector<float> out = x;
      kernels->softmax(out.data(), size);
      ASSERT_TRUE(same_bits(out, expected)) << kernels->name << " " << size;
    }
  }
}

TEST(Combine, WeighsRowsInOrder) {
  std::mt19937 random(12);
  const size_t size = 77;
  const auto a = random_floats(random, size), b = random_floats(random, size), before = random_floats(random, size);
  const float* rows[] = {a.data(), b.data()};
  const float weights[] = {0.7F, -1.25F};
  for (const bool accumulate : {false, true}) {
    std::vector<float> expected(size);
    for (size_t i = 0; i < size; ++i) {
      const float sum = std::fma(b[i], weights[1], std::fma(a[i], weights[0], 0.0F)) * 0.5F;
      expected[i] = accumulate ? before[i] + sum : sum;
    }
    for (const Kernels* kernels : usable_kernels()) {
      std::vector<float> out = before;
      kernels->combine(rows, weights, 2, size, 0.5F, accumulate, out.data());
      ASSERT_TRUE(same_bits(out, expected)) << kernels->name;
    }
  }
}

uint16_t saturated_half(float x) {
  return std::isnan(x) ? float_to_half(x) : float_to_half(std::clamp(x, -65504.0F, 65504.0F));
}

TEST(ToHalf, IsTheConversionOfTheFormatButSaturates) {
  std::mt19937 random(8);
  std::vector<float> x = random_floats(random, 3000, 100);
  for (float& value : random_floats(random, 500, 1e-6F)) x.push_back(value);
  for (int i = 0; i < 3000; ++i) x.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  for (const float value : {65504.0F, 65519.9F, 65520.0F, 0x1p-24F, 0x1p-25F, 0x1.8p-24F, kInfinity, -kInfinity, kNan})
    x.push_back(value);
  for (const Kernels* kernels : usable_kernels()) {
    for (size_t size = 1; size <= 40; ++size) {
      for (size_t at = 0; at + size <= x.size(); at += size * 5) {
        std::vector<uint16_t> out(size + 1, 12345);
        kernels->to_half(x.data() + at, size, out.data());
        for (size_t i = 0; i < size; ++i)
          ASSERT_EQ(out[i], saturated_half(x[at + i])) << kernels->name << " " << x[at + i];
        ASSERT_EQ(out[size], 12345) << "written past the end";
      }
    }
    std::vector<uint16_t> all(x.size());
    kernels->to_half(x.data(), x.size(), all.data());
    for (size_t i = 0; i < x.size(); ++i) ASSERT_EQ(all[i], saturated_half(x[i])) << kernels->name << " " << x[i];
  }
}

}  // namespace
}  // namespace terrace::compute
