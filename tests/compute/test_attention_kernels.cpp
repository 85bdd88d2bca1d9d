// Attention over pages: the same bits from every instruction set and for any companions in a tile, and close to exact
// arithmetic.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/half.h"
#include "compute/matrices.h"

namespace terrace::compute {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

struct Query {
  int32_t first, last;
};

/// Keys and values of one head in pages, as floats or halves, with queries to ask them.
class Scene {
 public:
  Scene(bool half, size_t key_size, size_t value_size, size_t positions, size_t queries)
      : half_(half), layer_{half, 1, key_size, value_size, 128} {
    layer_.value_offset = layer_.key_offset + layer_.key_bytes();
    std::mt19937 random(static_cast<uint32_t>(key_size + positions));
    keys_ = random_floats(random, positions * key_size);
    values_ = random_floats(random, positions * value_size);
    queries_ = random_floats(random, queries * key_size);
    if (half) {
      for (float& x : keys_) x = half_to_float(float_to_half(x));
      for (float& x : values_) x = half_to_float(float_to_half(x));
    }
    const size_t pages = positions / kAttentionBlock + 1;
    for (size_t page = 0; page < pages; ++page) {
      memory_.emplace_back(layer_.value_offset + layer_.value_bytes(), Purpose::kv);
      table_.push_back(memory_.back().data());
      for (size_t slot = 0; slot < kAttentionBlock; ++slot) store(page, slot, positions);
    }
  }

  /// The outputs of some of the queries in one task, as a whole or in parts of so many pages, merged in two rounds.
  std::vector<float> run(const Kernels& kernels, const std::vector<size_t>& which, const std::vector<Query>& seen,
                         int32_t part_pages = 0) const {
    std::vector<float> out(which.size() * layer_.value_size, 99.0F);
    std::vector<const float*> query;
    std::vector<float*> to;
    std::vector<int32_t> first, last;
    for (size_t i = 0; i < which.size(); ++i) {
      query.push_back(queries_.data() + which[i] * layer_.key_size);
      to.push_back(out.data() + i * layer_.value_size);
      first.push_back(seen[which[i]].first);
      last.push_back(seen[which[i]].last);
    }
    const AttentionTask task{query.data(),    to.data(),         last.data(),           first.data(),
                             which.size(),    table_.data(),     layer_.key_offset,     layer_.value_offset,
                             layer_.key_size, layer_.value_size, layer_.value_stride(), scale()};
    if (part_pages == 0)
      (half_ ? kernels.attention_f16 : kernels.attention_f32)(task);
    else
      run_in_parts(kernels, task, part_pages);
    return out;
  }

  void run_in_parts(const Kernels& kernels, const AttentionTask& task, int32_t part_pages) const {
    const AttentionPart all = visible_pages(task);
    std::vector<float> state(state_floats(task), NAN);
    const int32_t middle = all.first + (all.last - all.first) / 2;
    for (const AttentionPart round : {AttentionPart{all.first, middle}, AttentionPart{middle + 1, all.last}}) {
      const size_t record = task.count * partial_floats(task);
      std::vector<float> partials((round.last - round.first + 1) * record, NAN);
      for (int32_t first = round.first; first <= round.last; first += part_pages) {
        const AttentionPart part{first, std::min(round.last, first + part_pages - 1)};
        (half_ ? kernels.attention_part_f16 : kernels.attention_part_f32)(
            task, part, partials.data() + (first - round.first) * record);
      }
      if (round.first <= round.last) kernels.merge_attention(task, round, partials.data(), state.data());
    }
  }

  void expect_close(size_t query, Query seen, std::span<const float> out) const {
    const size_t keys = layer_.key_size, width = layer_.value_size;
    std::vector<double> scores, sums(width);
    for (int32_t p = seen.first; p <= seen.last; ++p) {
      double dot = 0;
      for (size_t i = 0; i < keys; ++i) dot += double{queries_[query * keys + i]} * keys_[p * keys + i];
      scores.push_back(dot * scale());
    }
    const double largest = *std::max_element(scores.begin(), scores.end());
    double total = 0;
    for (int32_t p = seen.first; p <= seen.last; ++p) {
      const double weight = std::exp(scores[p - seen.first] - largest);
      total += weight;
      for (size_t i = 0; i < width; ++i) sums[i] += weight * values_[p * width + i];
    }
    for (size_t i = 0; i < width; ++i) ASSERT_NEAR(out[i], sums[i] / total, 2e-5) << "value " << i;
  }

 private:
  float scale() const { return 1.0F / std::sqrt(static_cast<float>(layer_.key_size)); }

  /// Slots past the last position hold large numbers: nobody may see them.
  void store(size_t page, size_t slot, size_t positions) {
    const size_t position = page * kAttentionBlock + slot;
    const auto put = [&](size_t offset, size_t index, float value) {
      std::byte* base = memory_[page].data() + offset;
      if (half_)
        reinterpret_cast<uint16_t*>(base)[index] = float_to_half(value);
      else
        reinterpret_cast<float*>(base)[index] = value;
    };
    for (size_t i = 0; i < layer_.key_size; ++i)
      put(layer_.key_offset, i * kAttentionBlock + slot,
          position < positions ? keys_[position * layer_.key_size + i] : 1e4F);
    for (size_t i = 0; i < layer_.value_size; ++i)
      put(layer_.value_offset, slot * layer_.value_stride() + i,
          position < positions ? values_[position * layer_.value_size + i] : -6e4F);
  }

  bool half_;
  KvLayer layer_;
  std::vector<float> keys_, values_, queries_;
  std::vector<Buffer> memory_;
  std::vector<const std::byte*> table_;
};

/// Each query alone on the scalar kernels is the truth for all instruction sets and tiles.
void check(const Scene& scene, const std::vector<Query>& seen, size_t value_size) {
  std::vector<std::vector<float>> alone;
  for (size_t q = 0; q < seen.size(); ++q) {
    alone.push_back(scene.run(kScalarKernels, {q}, seen));
    scene.expect_close(q, seen[q], alone.back());
  }
  std::mt19937 random(4);
  for (const Kernels* kernels : usable_kernels()) {
    for (const size_t count : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 13u, 24u}) {
      for (int round = 0; round < 3; ++round) {
        std::vector<size_t> which;
        for (size_t i = 0; i < count; ++i) which.push_back(random() % seen.size());
        const auto out = scene.run(*kernels, which, seen, round);
        for (size_t i = 0; i < count; ++i)
          ASSERT_TRUE(same_bits(std::span(out).subspan(i * value_size, value_size), alone[which[i]]))
              << kernels->name << " query " << which[i];
      }
    }
  }
}

const std::vector<Query> kSeen = {{0, 0},   {0, 15},   {0, 16},    {0, 62},    {0, 63},   {0, 64},
                                  {0, 127}, {0, 128},  {0, 199},   {5, 5},     {60, 70},  {63, 64},
                                  {64, 64}, {64, 127}, {100, 199}, {128, 128}, {190, 199}};

TEST(Attention, AnyHeadSizeInBothPrecisions) {
  const size_t sizes[][2] = {{8, 8},     {64, 64}, {80, 80},   {128, 128}, {256, 256},
                             {512, 512}, {48, 20}, {192, 128}, {1, 1},     {7, 33}};
  for (const bool half : {false, true}) {
    for (const auto [key_size, value_size] : sizes) {
      SCOPED_TRACE(fmt::format("{} {} {}", half ? "f16" : "f32", key_size, value_size));
      check(Scene(half, key_size, value_size, 200, kSeen.size()), kSeen, value_size);
    }
  }
}

TEST(Attention, WindowsAndEndsAtAllPlacesOfAPage) {
  std::vector<Query> seen;
  for (int32_t last = 0; last < 140; last += 3)
    for (const int32_t window : {1, 17, 64, 100}) seen.push_back({std::max(0, last - window + 1), last});
  for (const bool half : {false, true}) check(Scene(half, 32, 32, 140, seen.size()), seen, 32);
}

}  // namespace
}  // namespace terrace::compute
