// State spaces: the same bits from every instruction set and however the rows are cut, and close to exact arithmetic.
#include <gtest/gtest.h>

#include "compute/matrices.h"

namespace terrace::compute {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

/// One head's inputs for some rows, and runs over them.
struct Head {
  static constexpr size_t rows = 37;
  size_t size, states;
  std::vector<float> convolved, z, time, state;

  Head(size_t head_size, size_t state_count) : size(head_size), states(state_count) {
    std::mt19937 random(23);
    convolved = random_floats(random, rows * stride());
    z = random_floats(random, rows * size, 3);
    time = random_floats(random, rows, 2);
    state = random_floats(random, states * size);
  }
  size_t stride() const { return size + 2 * states; }  // x, B, C

  /// The outputs, and behind them the state that is left.
  std::vector<float> run(const Kernels& kernels, size_t chunk) const {
    std::vector<float> out(rows * size), left = state;
    for (size_t first = 0; first < rows; first += chunk) {
      StateSpaceTask task{};
      task.x = convolved.data() + first * stride();
      task.b = task.x + size;
      task.c = task.b + states;
      task.stride = stride();
      task.z = z.data() + first * size;
      task.z_stride = size;
      task.time = time.data() + first;
      task.time_stride = 1;
      task.out = out.data() + first * size;
      task.out_stride = size;
      task.rows = std::min(chunk, rows - first);
      task.size = size;
      task.states = states;
      task.state = left.data();
      task.decay = kDecay;
      task.skip = kSkip;
      task.time_bias = kTimeBias;
      kernels.state_space(task);
    }
    out.insert(out.end(), left.begin(), left.end());
    return out;
  }

  /// The same from the definition.
  std::vector<double> exact() const {
    std::vector<double> out(rows * size), left(state.begin(), state.end());
    for (size_t r = 0; r < rows; ++r) {
      const float *x = convolved.data() + r * stride(), *b = x + size, *c = b + states;
      const double step = std::log1p(std::exp(double{time[r]} + kTimeBias)), decay = std::exp(kDecay * step);
      for (size_t i = 0; i < size; ++i) {
        double sum = double{kSkip} * x[i];
        for (size_t n = 0; n < states; ++n) {
          double& at = left[n * size + i];
          at = decay * at + step * x[i] * b[n];
          sum += c[n] * at;
        }
        const double gate = z[r * size + i];
        out[r * size + i] = sum * gate / (1 + std::exp(-gate));
      }
    }
    out.insert(out.end(), left.begin(), left.end());
    return out;
  }

  static constexpr float kDecay = -0.7F, kSkip = 1.25F, kTimeBias = 0.3F;
};

const Head kHeads[] = {{16, 16}, {64, 128}, {80, 7}, {32, 1}};

TEST(StateSpace, FollowsTheDefinition) {
  for (const Head& head : kHeads) {
    const auto expected = head.exact();
    const auto out = head.run(kScalarKernels, Head::rows);
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(out[i], expected[i], 2e-6 * std::fabs(expected[i]) + 1e-4) << head.size << " " << i;
  }
}

TEST(StateSpace, InstructionSetsAndChunksAgree) {
  for (const Head& head : kHeads) {
    const auto expected = head.run(kScalarKernels, Head::rows);
    for (const Kernels* kernels : usable_kernels()) {
      for (const size_t chunk : {size_t{1}, size_t{5}, size_t{16}, Head::rows})
        ASSERT_TRUE(same_bits(head.run(*kernels, chunk), expected)) << kernels->name << ", chunks of " << chunk;
    }
  }
}

}  // namespace
}  // namespace terrace::compute
