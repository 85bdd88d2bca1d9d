// linear, gated_linear, embed and norm: the same bits for any number of threads and any companions, and close to exact
// arithmetic.
#include <gtest/gtest.h>

#include "compute/matrices.h"

namespace terrace::compute {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

Encoded matrix_of(const char* type, size_t rows, size_t inputs, uint32_t seed) {
  return random_matrix(*format::find_block_type(type), rows, inputs, seed);
}

/// A step of products with all that a call can ask for, from inputs of a width.
class Products {
 public:
  explicit Products(size_t width)
      : width_(width), gain_(random_floats(random_, width)), bias_(random_floats(random_, 37)) {
    for (const char* type : {"Q4_K", "Q6_K", "F32", "Q8_0"}) matrices_.push_back(matrix_of(type, 37, width, 1));
    gates_ = {matrix_of("Q5_K", 50, width, 2), matrix_of("Q4_0", 50, width, 3), matrix_of("F16", 50, width, 4)};
  }

  std::vector<float> run(CpuBackend& owner, std::vector<float> x, bool with_norm) const {
    OwnRows in(width_, std::move(x));
    const size_t count = in.rows().count;
    const auto norm = with_norm ? std::optional(Norm{gain_.data(), 1e-5F}) : std::nullopt;
    std::vector<std::unique_ptr<CpuMatrix>> placed;
    std::vector<OwnRows> outs;
    std::vector<Linear> outputs;
    for (size_t i = 0; i < matrices_.size(); ++i) {
      placed.push_back(place(owner, matrices_[i]));
      outs.emplace_back(count, 37, 40);
      std::fill(outs.back().values().begin(), outs.back().values().end(), 0.25F);
    }
    for (size_t i = 0; i < placed.size(); ++i)
      outputs.push_back({placed[i].get(), i % 2 ? bias_.data() : nullptr, outs[i].rows(), i == 1 || i == 2});
    owner.linear(in.rows(), norm, outputs);
    for (size_t i = 0; i < gates_.size(); ++i) {
      outs.emplace_back(count, 50, 50);
      owner.gated_linear(in.rows(), norm, *place(owner, gates_[i]), *place(owner, gates_[(i + 1) % gates_.size()]),
                         i % 2 ? GateFunction::gelu_tanh : GateFunction::silu, outs.back().rows());
    }
    std::vector<float> all;  // row by row, so that rows can be compared
    for (size_t r = 0; r < count; ++r) {
      for (OwnRows& out : outs) {
        const Rows rows = out.rows();
        all.insert(all.end(), rows.row(r), rows.row(r) + rows.width);
        if (rows.stride > rows.width) {
          EXPECT_EQ(rows.row(r)[rows.width], 0.25F) << "written between the rows";
        }
      }
    }
    return all;
  }
  size_t width() const { return width_; }

 private:
  mutable std::mt19937 random_{11};
  size_t width_;
  std::vector<float> gain_, bias_;
  std::vector<Encoded> matrices_, gates_;
};

TEST(Products, ThreadsAndCompanionsDoNotMatter) {
  // 70 rows of 512 are more inputs than each member prepares for itself.
  const Products products(512);
  std::mt19937 random(12);
  const auto x = random_floats(random, 70 * products.width());
  for (const bool reference_profile : {false, true}) {
    for (const bool norm : {false, true}) {
      const auto one = backend("auto", 1, reference_profile);
      std::vector<float> expected;
      for (size_t r = 0; r < 70; ++r) {
        const auto row = products.run(*one, {x.begin() + r * 512, x.begin() + (r + 1) * 512}, norm);
        expected.insert(expected.end(), row.begin(), row.end());
      }
      for (const size_t threads : {1, 2, 3}) {
        const auto owner = backend("auto", threads, reference_profile);
        for (const size_t rows : {1, 2, 7, 8, 9, 31, 33, 70}) {
          const auto found = products.run(*owner, {x.begin(), x.begin() + rows * 512}, norm);
          ASSERT_TRUE(same_bits(found, std::span(expected).first(found.size())))
              << threads << " threads, " << rows << " rows";
        }
      }
    }
  }
}

TEST(Products, InstructionSetsAgree) {
  const Products products(256);
  std::mt19937 random(13);
  const auto x = random_floats(random, 9 * products.width());
  for (const bool reference_profile : {false, true}) {
    const auto expected = products.run(*backend("scalar", 1, reference_profile), x, true);
    for (const Kernels* kernels : usable_kernels())
      ASSERT_TRUE(same_bits(products.run(*backend(kernels->name, 2, reference_profile), x, true), expected))
          << kernels->name;
  }
}

TEST(Products, BiasAndAccumulationAreAdded) {
  const Encoded matrix = matrix_of("F32", 19, 40, 5);
  std::mt19937 random(14);
  const auto x = random_floats(random, 40);
  const auto bias = random_floats(random, 19);
  const auto owner = backend("auto", 1);
  const auto placed = place(*owner, matrix);
  for (const bool accumulate : {false, true}) {
    OwnRows in(40, x);
    OwnRows out(19, std::vector<float>(19, 3.0F));
    const Linear outputs[] = {{placed.get(), bias.data(), out.rows(), accumulate}};
    owner->linear(in.rows(), std::nullopt, outputs);
    for (size_t o = 0; o < 19; ++o) {
      double sum = bias[o] + (accumulate ? 3.0 : 0.0);
      for (size_t i = 0; i < 40; ++i) sum += double{matrix.row(o)[i]} * x[i];
      ASSERT_NEAR(out.values()[o], sum, 1e-5);
    }
  }
}

TEST(Products, GatedIsTheActivatedGateTimesUp) {
  const Encoded gate = matrix_of("F32", 21, 64, 6);
  const Encoded up = matrix_of("F32", 21, 64, 7);
  std::mt19937 random(15);
  const auto x = random_floats(random, 64, 3);
  const auto owner = backend("auto", 2);
  OwnRows in(64, x);
  OwnRows out(1, 21);
  owner->gated_linear(in.rows(), std::nullopt, *place(*owner, gate), *place(*owner, up), GateFunction::silu,
                      out.rows());
  for (size_t o = 0; o < 21; ++o) {
    double g = 0;
    double u = 0;
    for (size_t i = 0; i < 64; ++i) {
      g += double{gate.row(o)[i]} * x[i];
      u += double{up.row(o)[i]} * x[i];
    }
    ASSERT_NEAR(out.values()[o], g / (1 + std::exp(-g)) * u, 1e-5);
  }
}

TEST(Embed, GivesTheRowsOfTheTable) {
  for (const auto* type : computable_types()) {
    const Encoded table = random_matrix(*type, 50, 256);
    const auto owner = backend("auto", 3);
    const auto placed = place(*owner, table);
    std::vector<int32_t> tokens;
    for (int32_t i = 0; i < 60; ++i) tokens.push_back(i * 7 % 50);
    OwnRows out(tokens.size(), 256, 272);
    owner->embed(*placed, tokens, 1, out.rows());
    for (size_t i = 0; i < tokens.size(); ++i)
      ASSERT_TRUE(same_bits(std::span(out.rows().row(i), 256), table.row(tokens[i])));
  }
}

TEST(Add, IsTheKernelsRowByRow) {
  std::mt19937 random(16);
  OwnRows x(100, random_floats(random, 100 * 37));
  const auto gain = random_floats(random, 100);
  const auto owner = backend("auto", 3);
  OwnRows out(37, 100, 112);
  owner->add(x.rows(), Norm{gain.data(), 1e-6F}, 1, out.rows());
  std::vector<float> expected(100);
  for (size_t r = 0; r < 37; ++r) {
    kScalarKernels.rms_norm(x.rows().row(r), gain.data(), 100, 1e-6F, expected.data());
    for (float& value : expected) value += 0.0F;  // what it is added to; turns -0 into 0
    ASSERT_TRUE(same_bits(std::span(out.rows().row(r), 100), expected));
  }
}

TEST(CpuBackend, ImpossibleOptionsAreErrors) {
  EXPECT_NE(message_of(CpuBackend::create({1, "sse9"})).find("'sse9'"), std::string::npos);
  EXPECT_NE(message_of(CpuBackend::create({100000})).find("100000 threads"), std::string::npos);
  EXPECT_EQ(take(CpuBackend::create({3}))->threads(), 3u);
  EXPECT_GE(take(CpuBackend::create({}))->threads(), 1u);
}

}  // namespace
}  // namespace terrace::compute
