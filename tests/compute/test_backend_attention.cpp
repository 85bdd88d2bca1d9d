// turns and attention of the backend: the same bits however a prompt is cut, for any number of threads, and close to
// exact arithmetic.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/half.h"
#include "compute/matrices.h"
#include "memory/kv_pool.h"

namespace terrace::compute {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

struct Shape {
  size_t heads, kv_heads, key_size, value_size;
  bool half;
  RopePairs pairs;
  int32_t window;
};

constexpr size_t kPositions = 150;

/// One sequence's projections, and a run of attention over them in chunks.
class Scene {
 public:
  explicit Scene(const Shape& shape)
      : shape_(shape), layer_{shape.half, shape.kv_heads, shape.key_size, shape.value_size, 256} {
    layer_.value_offset = layer_.key_offset + layer_.heads * layer_.key_bytes();
    std::mt19937 random(17);
    queries_ = random_floats(random, kPositions * q_width());
    keys_ = random_floats(random, kPositions * k_width());
    values_ = random_floats(random, kPositions * v_width());
    for (size_t i = 0; i < shape.key_size / 4; ++i)  // half of each head turns
      frequencies_.push_back(std::pow(100.0F, -static_cast<float>(i) / static_cast<float>(shape.key_size / 4)));
  }

  std::vector<float> run(CpuBackend& owner, size_t chunk) const {
    memory::KvPool pool(layer_.value_offset + layer_.heads * layer_.value_bytes());
    std::vector<memory::KvPage> pages;
    std::vector<std::byte*> table;
    for (size_t i = 0; i <= kPositions / kAttentionBlock; ++i)
      table.push_back(pages.emplace_back(pool.allocate()).get());
    std::vector<float> all;
    for (size_t first = 0; first < kPositions; first += chunk) {
      const size_t count = std::min(chunk, kPositions - first);
      const auto part = [&](const std::vector<float>& from, size_t width) {
        return OwnRows(width, {from.begin() + first * width, from.begin() + (first + count) * width});
      };
      OwnRows queries = part(queries_, q_width()), keys = part(keys_, k_width()), values = part(values_, v_width());
      OwnRows out(count, shape_.heads * shape_.value_size), turns(count, 2 * frequencies_.size());
      const RowSpan spans[] = {{0, count, static_cast<int32_t>(first), table.data()}};
      owner.turns({frequencies_, kMagnitude}, spans, turns.rows());
      Attention attention;
      attention.queries = queries.rows();
      attention.keys = keys.rows();
      if (!omit_values_) attention.values = values.rows();
      attention.out = out.rows();
      attention.heads = shape_.heads;
      attention.kv = &layer_;
      attention.pairs = shape_.pairs;
      attention.turns = turns.rows();
      attention.scale = kScale;
      attention.window = shape_.window;
      owner.attention(attention, spans);
      all.insert(all.end(), out.values().begin(), out.values().end());
    }
    return all;
  }

  /// Makes the values of all positions from `position` on larger.
  void enlarge_values(size_t position, float factor) {
    for (size_t i = position * v_width(); i < values_.size(); ++i) values_[i] *= factor;
  }

  /// Makes the keys the values, too; `omit`: by leaving the values out.
  void use_keys_as_values(bool omit) {
    values_ = keys_;
    omit_values_ = omit;
  }

  void expect_close(const std::vector<float>& out) const {
    const size_t group = shape_.heads / shape_.kv_heads;
    for (size_t p = 0; p < kPositions; p += 13) {
      for (size_t head = 0; head < shape_.heads; ++head) {
        const auto query = turned(queries_, q_width(), head, p);
        const size_t first =
            shape_.window > 0 && p + 1 > static_cast<size_t>(shape_.window) ? p + 1 - shape_.window : 0;
        std::vector<double> sums(shape_.value_size);
        double total = 0;
        for (size_t k = first; k <= p; ++k) {
          const auto key = turned(keys_, k_width(), head / group, k);
          double dot = 0;
          for (size_t i = 0; i < key.size(); ++i) dot += query[i] * key[i];
          const double weight = std::exp(dot * kScale);
          total += weight;
          for (size_t i = 0; i < sums.size(); ++i)
            sums[i] += weight * values_[k * v_width() + head / group * shape_.value_size + i];
        }
        for (size_t i = 0; i < sums.size(); ++i) {
          const float found = out[(p * shape_.heads + head) * shape_.value_size + i];
          ASSERT_NEAR(found, sums[i] / total, shape_.half ? 3e-3 : 3e-5) << "position " << p << " head " << head;
        }
      }
    }
  }

 private:
  static constexpr float kMagnitude = 1.125F, kScale = 0.25F;
  size_t q_width() const { return shape_.heads * shape_.key_size; }
  size_t k_width() const { return shape_.kv_heads * shape_.key_size; }
  size_t v_width() const { return shape_.kv_heads * shape_.value_size; }

  /// A head of a row with its pairs turned, from the definition.
  std::vector<double> turned(const std::vector<float>& rows, size_t width, size_t head, size_t position) const {
    const auto begin = rows.begin() + position * width + head * shape_.key_size;
    std::vector<double> x(begin, begin + shape_.key_size);
    const size_t count = frequencies_.size();
    for (size_t i = 0; i < count; ++i) {
      const size_t a = shape_.pairs == RopePairs::adjacent ? 2 * i : i;
      const size_t b = shape_.pairs == RopePairs::adjacent ? 2 * i + 1 : i + count;
      const double angle = static_cast<double>(position) * frequencies_[i];
      const double c = std::cos(angle) * kMagnitude, s = std::sin(angle) * kMagnitude, xa = x[a], xb = x[b];
      x[a] = xa * c - xb * s;
      x[b] = xa * s + xb * c;
    }
    return x;
  }

  Shape shape_;
  KvLayer layer_;
  bool omit_values_ = false;
  std::vector<float> queries_, keys_, values_, frequencies_;
};

const Shape kShapes[] = {
    {4, 4, 16, 16, false, RopePairs::adjacent, 0}, {4, 2, 32, 32, false, RopePairs::halves, 0},
    {6, 2, 16, 24, true, RopePairs::adjacent, 0},  {8, 1, 64, 64, true, RopePairs::halves, 40},
    {7, 1, 16, 16, false, RopePairs::adjacent, 7}, {5, 5, 20, 12, false, RopePairs::halves, 70},
};

TEST(BackendAttention, FollowsTheDefinition) {
  for (const Shape& shape : kShapes) {
    const Scene scene(shape);
    scene.expect_close(scene.run(*backend("auto", 2), kPositions));
  }
}

TEST(BackendAttention, ThreadsAndChunksDoNotMatter) {
  for (const Shape& shape : kShapes) {
    const Scene scene(shape);
    const auto expected = scene.run(*backend("auto", 1), 1);
    for (const size_t threads : {1, 2, 3}) {
      const auto owner = backend("auto", threads);
      for (const size_t chunk : {4, 5, 64, 150})
        ASSERT_TRUE(same_bits(scene.run(*owner, chunk), expected)) << threads << " threads, chunks of " << chunk;
    }
  }
}

TEST(BackendAttention, OmittedValuesAreTheKeysBeforeTheirRotation) {
  for (const Shape& shape : kShapes) {
    if (shape.key_size != shape.value_size) continue;
    Scene given(shape), omitted(shape);
    given.use_keys_as_values(/*omit=*/false);
    omitted.use_keys_as_values(/*omit=*/true);
    const auto expected = given.run(*backend("auto", 1), 50);
    for (const size_t threads : {1, 2, 3})
      ASSERT_TRUE(same_bits(omitted.run(*backend("auto", threads), 7), expected)) << threads << " threads";
  }
}

TEST(BackendAttention, InstructionSetsAgree) {
  for (const Shape& shape : kShapes) {
    const Scene scene(shape);
    const auto expected = scene.run(*backend("scalar", 1), 50);
    for (const Kernels* kernels : usable_kernels())
      ASSERT_TRUE(same_bits(scene.run(*backend(kernels->name, 2), 50), expected)) << kernels->name;
  }
}

TEST(BackendAttention, ValuesBeyondTheHalvesRangeDoNotReachEarlierQueries) {
  Scene scene(kShapes[2]);
  scene.enlarge_values(70, 1e9F);
  const auto owner = backend("auto", 2);
  const auto expected = scene.run(*owner, 1);
  for (const float value : expected) ASSERT_TRUE(std::isfinite(value));
  for (const size_t chunk : {5, 150}) ASSERT_TRUE(same_bits(scene.run(*owner, chunk), expected)) << chunk;
}

}  // namespace
}  // namespace terrace::compute
