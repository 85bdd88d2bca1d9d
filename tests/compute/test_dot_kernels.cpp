// Products of panels: the same bits from every instruction set and with any companions, and close to exact arithmetic.
#include <gtest/gtest.h>

#include "compute/matrices.h"

namespace terrace::compute {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

constexpr size_t kRows = 37;
constexpr size_t kInputs = 768;

/// Rows of many kinds: ordinary, zero, of tiny and huge magnitude, with an outlier, extreme codes only, and mixed by
/// block.
std::vector<float> activations(size_t rows, size_t inputs) {
  std::mt19937 random(7);
  std::vector<float> x = random_floats(random, rows * inputs);
  for (size_t r = 0; r < rows; ++r) {
    float* row = x.data() + r * inputs;
    for (size_t i = 0; i < inputs; ++i) {
      switch (r % 9) {
        case 1:
          row[i] = 0;
          break;
        case 2:
          row[i] *= 1e-38F;
          break;
        case 3:
          row[i] *= 1e30F;
          break;
        case 4:
          row[i] = i % 100 == 50 ? 1000.0F : row[i];
          break;
        case 5:
          row[i] = 1;
          break;
        case 6:
          row[i] = -1;
          break;
        case 7:
          row[i] = i % 2 ? 1.0F : -1.0F;
          break;
        case 8:
          row[i] *= i / 32 % 3 == 0 ? 1e-20F : i / 32 % 3 == 1 ? 0.0F : 50.0F;
          break;
        default:
          break;
      }
    }
  }
  return x;
}

std::vector<ActivationBlock> quantized(const Kernels& kernels, const std::vector<float>& x) {
  std::vector<ActivationBlock> blocks(x.size() / kBlock);
  kernels.quantize(x.data(), blocks.size(), blocks.data());
  return blocks;
}

/// For each instruction set and each number of rows: each row's products must be those of the scalar kernel with that
/// row alone. `call(kernels, panel, first row, rows, out)` is the product.
template <class Call>
std::vector<float> expect_same_bits(const Encoded& matrix, size_t rows, Call call) {
  const auto reference = backend("scalar");
  const auto reference_matrix = place(*reference, matrix);
  const size_t panels = reference_matrix->panels();
  std::vector<float> expected(panels * rows * kPanel);
  for (size_t p = 0; p < panels; ++p)
    for (size_t r = 0; r < rows; ++r)
      call(*reference_matrix->kernels, reference_matrix->panel(p), r, 1, expected.data() + (p * rows + r) * kPanel);
  for (const Kernels* kernels : usable_kernels()) {
    const auto owner = backend(kernels->name);
    const auto placed = place(*owner, matrix);
    for (size_t p = 0; p < panels; ++p) {
      for (size_t count = 1; count <= rows; ++count) {
        std::vector<float> out(count * kPanel, 99.0F);
        const size_t first = count % 2 ? 0 : rows - count;
        call(*placed->kernels, placed->panel(p), first, count, out.data());
        const std::span<const float> wanted(expected.data() + (p * rows + first) * kPanel, count * kPanel);
        EXPECT_TRUE(same_bits(out, wanted)) << kernels->name << " " << matrix.type->name << " " << count << " rows";
      }
    }
  }
  return expected;
}

/// Each product against a sum in double precision. x: [rows][inputs] as the weights meet them.
void expect_close(const Encoded& matrix, const std::vector<double>& x, const std::vector<float>& products) {
  const size_t rows = x.size() / matrix.inputs;
  for (size_t o = 0; o < matrix.rows; ++o) {
    const auto weights = matrix.row(o);
    for (size_t r = 0; r < rows; ++r) {
      double sum = 0;
      double magnitude = 0;
      for (size_t i = 0; i < matrix.inputs; ++i) {
        sum += weights[i] * x[r * matrix.inputs + i];
        // Weights with a minimum are differences of larger terms.
        magnitude += (std::fabs(weights[i]) + 0.05) * std::fabs(x[r * matrix.inputs + i]);
      }
      const float product = products[(o / kPanel * rows + r) * kPanel + o % kPanel];
      ASSERT_NEAR(product, sum, magnitude * 3e-6 + 1e-42) << matrix.type->name << " output " << o << " row " << r;
    }
  }
}

void check_codes(const Encoded& matrix, size_t rows) {
  const auto codes = quantized(*usable_kernels().back(), activations(rows, matrix.inputs));
  const size_t blocks = matrix.inputs / kBlock;
  const auto products = expect_same_bits(
      matrix, rows, [&](const BlockKernels& kernels, const std::byte* panel, size_t first, size_t count, float* out) {
        kernels.dot_codes(panel, blocks, codes.data() + first * blocks, blocks, count, out);
      });
  std::vector<double> x;
  for (const ActivationBlock& block : codes)
    for (const int8_t code : block.codes) x.push_back(double{block.scale} * code);
  expect_close(matrix, x, products);
}

/// The decoded weights with each row, one fma per input in order.
std::vector<float> float_products(const Encoded& matrix, const std::vector<float>& x) {
  const size_t rows = x.size() / matrix.inputs, panels = (matrix.rows + kPanel - 1) / kPanel;
  std::vector<float> products(panels * rows * kPanel);
  for (size_t o = 0; o < matrix.rows; ++o) {
    const auto weights = matrix.row(o);
    for (size_t r = 0; r < rows; ++r) {
      float& sum = products[(o / kPanel * rows + r) * kPanel + o % kPanel];
      for (size_t i = 0; i < matrix.inputs; ++i) sum = std::fma(weights[i], x[r * matrix.inputs + i], sum);
    }
  }
  return products;
}

void check_floats(const Encoded& matrix, size_t rows) {
  const auto x = activations(rows, matrix.inputs);
  const auto products = expect_same_bits(
      matrix, rows, [&](const BlockKernels& kernels, const std::byte* panel, size_t first, size_t count, float* out) {
        kernels.dot_floats(panel, matrix.inputs, x.data() + first * matrix.inputs, matrix.inputs, count, out);
      });
  expect_close(matrix, {x.begin(), x.end()}, products);
  const auto expected = float_products(matrix, x);
  for (size_t i = 0; i < products.size(); ++i) {
    if (i / (rows * kPanel) * kPanel + i % kPanel >= matrix.rows) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(products[i]), std::bit_cast<uint32_t>(expected[i])) << matrix.type->name;
  }
}

bool has_codes(const format::BlockType& type) { return kScalarKernels.find(type.code)->dot_codes; }

TEST(DotCodes, RecordedWeights) {
  for (const auto* type : computable_types())
    if (is_recorded(*type) && has_codes(*type)) check_codes(recorded_matrix(*type), 5);
}

TEST(DotCodes, RandomWeights) {
  for (const auto* type : computable_types())
    if (has_codes(*type)) check_codes(random_matrix(*type, 21, kInputs), kRows);
}

TEST(DotCodes, ExtremeWeights) {
  // With all codes at one end the sums in 16 bits of some instruction sets come closest to their limit.
  for (const auto* type : computable_types()) {
    if (!has_codes(*type)) continue;
    for (const int byte : {0x00, 0x7f, 0x80, 0x81, 0xff, 0xf0})
      check_codes(encoded(*type, 16, 512, [=] { return byte; }), 9);
  }
}

TEST(DotCodes, AnyNumberOfBlocks) {
  for (const auto* type : computable_types()) {
    if (!has_codes(*type)) continue;
    for (const size_t blocks : {1, 3, 5}) check_codes(random_matrix(*type, 5, blocks * type->values), 13);
  }
}

TEST(DotCodes, AnyBytesAreWeights) {
  // Scales may be infinite or NaN then; what counts is that no index leads out of a table.
  std::mt19937 random(3);
  for (const auto* type : computable_types()) {
    if (!has_codes(*type)) continue;
    Encoded matrix = random_matrix(*type, 32, 1024);
    for (std::byte& byte : matrix.bytes) byte = static_cast<std::byte>(random());
    const auto codes = quantized(kScalarKernels, activations(3, matrix.inputs));
    for (const Kernels* kernels : usable_kernels()) {
      const auto owner = backend(kernels->name);
      const auto placed = place(*owner, matrix);
      float out[3 * kPanel];
      std::vector<float> weights(matrix.inputs);
      for (size_t panel = 0; panel < placed->panels(); ++panel) {
        placed->kernels->dot_codes(placed->panel(panel), 32, codes.data(), 32, 3, out);
        placed->kernels->decode_lane(placed->panel(panel), matrix.inputs, panel, weights.data());
      }
    }
  }
}

TEST(DotFloats, RecordedWeights) {
  for (const auto* type : computable_types())
    if (is_recorded(*type)) check_floats(recorded_matrix(*type), 5);
}

TEST(DotFloats, RandomWeights) {
  for (const auto* type : computable_types()) check_floats(random_matrix(*type, 21, 512), 19);
}

TEST(DotFloats, FloatTypesTakeAnyWidth) {
  for (const char* name : {"F32", "F16", "BF16"})
    for (const size_t inputs : {1, 2, 7, 33, 100})
      check_floats(random_matrix(*format::find_block_type(name), 17, inputs), 13);
}

TEST(DotCodes, RowsMayLieApart) {
  const Encoded matrix = random_matrix(*format::find_block_type("Q4_K"), 16, 256);
  const auto codes = quantized(kScalarKernels, activations(14, 256));
  for (const Kernels* kernels : usable_kernels()) {
    const auto owner = backend(kernels->name);
    const auto placed = place(*owner, matrix);
    std::vector<float> all(14 * kPanel);
    std::vector<float> every_other(7 * kPanel);
    placed->kernels->dot_codes(placed->panel(0), 8, codes.data(), 8, 14, all.data());
    placed->kernels->dot_codes(placed->panel(0), 8, codes.data(), 16, 7, every_other.data());
    for (size_t r = 0; r < 7; ++r)
      ASSERT_TRUE(same_bits(std::span(every_other).subspan(r * kPanel, kPanel),
                            std::span(all).subspan(2 * r * kPanel, kPanel)));
  }
}

}  // namespace
}  // namespace terrace::compute
