// What the conversation cache finds, what it drops, and that it never holds more than it may.
#include <gtest/gtest.h>

#include <numeric>

#include "engine/conversation_cache.h"

namespace terrace::engine {
namespace {

constexpr size_t kPageBytes = 4096, kPage = 64;

std::vector<int32_t> numbers(size_t count, int32_t first = 0) {
  std::vector<int32_t> tokens(count);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::vector<int32_t> joined(std::vector<int32_t> a, const std::vector<int32_t>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

class Cache : public ::testing::Test {
 protected:
  Checkpoint checkpoint(std::vector<int32_t> tokens, size_t state = 0, const Checkpoint* shared = nullptr) {
    Checkpoint made{std::move(tokens), {}, {}};
    if (state > 0) made.state = Buffer(state, Purpose::states);
    for (size_t p = 0; p * kPage < made.tokens.size(); ++p) {
      const bool full = shared && (p + 1) * kPage <= shared->tokens.size();
      made.pages.push_back(full ? shared->pages[p] : pool.allocate());
    }
    return made;
  }
  memory::KvPool pool{kPageBytes};
};

TEST_F(Cache, FindsTheLongestCommonBeginning) {
  ConversationCache cache(1 << 20, kPageBytes, /*recurrent=*/false);
  EXPECT_EQ(cache.find(numbers(10)).length, 0u);
  ASSERT_TRUE(cache.insert(checkpoint(numbers(100))));
  ASSERT_TRUE(cache.insert(checkpoint(joined(numbers(50), numbers(80, 1000)))));
  ASSERT_TRUE(cache.insert(checkpoint(joined(numbers(20), numbers(80, 5)))));
  EXPECT_EQ(cache.find(numbers(70)).length, 70u);
  EXPECT_EQ(cache.find(numbers(200)).length, 100u);
  EXPECT_EQ(cache.find(joined(numbers(50), numbers(10, 1000))).length, 60u);
  EXPECT_EQ(cache.find(joined(numbers(30), {-5})).length, 30u);
  EXPECT_EQ(cache.find(joined(numbers(30), {100000})).length, 30u);
  EXPECT_EQ(cache.find(numbers(10, 1)).length, 0u);
  EXPECT_EQ(cache.find({}).length, 0u);
}

TEST_F(Cache, RecurrentCheckpointsServeWholeOnly) {
  ConversationCache cache(1 << 20, kPageBytes, /*recurrent=*/true);
  ASSERT_TRUE(cache.insert(checkpoint(numbers(100), 1000)));
  ASSERT_TRUE(cache.insert(checkpoint(numbers(30), 1000)));
  ASSERT_TRUE(cache.insert(checkpoint(joined(numbers(60), numbers(60, 1000)), 1000)));
  ASSERT_TRUE(cache.insert(checkpoint(joined(numbers(60), {-1}), 1000)));
  EXPECT_EQ(cache.find(numbers(200)).length, 100u);
  EXPECT_EQ(cache.find(numbers(100)).length, 100u);
  EXPECT_EQ(cache.find(numbers(99)).length, 30u);
  EXPECT_EQ(cache.find(joined(numbers(60), numbers(50, 1000))).length, 30u);
  EXPECT_EQ(cache.find(numbers(29)).length, 0u);
  EXPECT_EQ(cache.size(), 4u);
}

TEST_F(Cache, ALongerOneReplacesTheOnesItContinues) {
  ConversationCache cache(1 << 20, kPageBytes, /*recurrent=*/false);
  const Checkpoint first = checkpoint(numbers(64));
  Checkpoint longer = checkpoint(numbers(128), 0, &first);
  ASSERT_TRUE(cache.insert(checkpoint(numbers(64), 0, &first)));
  ASSERT_TRUE(cache.insert(std::move(longer)));
  EXPECT_EQ(cache.size(), 1u);
  ASSERT_TRUE(cache.insert(checkpoint(numbers(90))));  // served already
  EXPECT_EQ(cache.size(), 1u);
  EXPECT_LT(cache.bytes(), 2 * kPageBytes + 2000);
}

TEST_F(Cache, SharedPagesCountOnce) {
  ConversationCache cache(1 << 20, kPageBytes, /*recurrent=*/false);
  const Checkpoint root = checkpoint(numbers(640));
  for (int32_t branch = 0; branch < 5; ++branch)
    ASSERT_TRUE(cache.insert(checkpoint(joined(numbers(640), numbers(64, 5000 * branch + 1000)), 0, &root)));
  EXPECT_GE(cache.bytes(), (10 + 5) * kPageBytes);
  EXPECT_LT(cache.bytes(), (10 + 5) * kPageBytes + 5 * 4000);
}

TEST_F(Cache, TheLimitHoldsAlways) {
  for (const bool recurrent : {false, true}) {
    ConversationCache cache(40 * kPageBytes, kPageBytes, recurrent);
    EXPECT_FALSE(cache.insert(checkpoint(numbers(64 * 50), recurrent)));  // larger than all of it
    EXPECT_EQ(cache.bytes(), 0u);
    for (int32_t i = 0; i < 50; ++i) {
      ASSERT_TRUE(
          cache.insert(checkpoint(numbers(64 * static_cast<size_t>(1 + i % 9), 1000 * i), recurrent ? 3000 : 0)));
      ASSERT_LE(cache.bytes(), cache.limit());
    }
    EXPECT_GT(cache.size(), 3u);
    EXPECT_FALSE(cache.insert(checkpoint(numbers(64 * 50), recurrent)));
    EXPECT_GT(cache.size(), 3u);  // nothing was dropped for what cannot fit
  }
  ConversationCache none(0, kPageBytes, false);
  EXPECT_FALSE(none.insert(checkpoint(numbers(1))));
}

TEST_F(Cache, TheRootOutlivesItsBranches) {
  // Room for the root and about two branches.
  ConversationCache cache(9 * kPageBytes, kPageBytes, /*recurrent=*/true);
  const Checkpoint root = checkpoint(numbers(64 * 4));
  ASSERT_TRUE(cache.insert(checkpoint(numbers(64 * 4), 100, &root)));
  for (int32_t i = 0; i < 20; ++i) {
    const auto branch = joined(numbers(64 * 4), numbers(64, 1000 * (i + 1)));
    ASSERT_EQ(cache.find(branch).length, 64u * 4) << i;
    ASSERT_TRUE(cache.insert(checkpoint(branch, 100, &root)));
  }
}

TEST_F(Cache, WhatIsUsedStays) {
  ConversationCache cache(6 * kPageBytes, kPageBytes, /*recurrent=*/false);
  ASSERT_TRUE(cache.insert(checkpoint(numbers(64, 1000))));
  for (int32_t i = 2; i < 30; ++i) {
    ASSERT_TRUE(cache.insert(checkpoint(numbers(64, 1000 * i))));
    ASSERT_EQ(cache.find(numbers(64, 1000)).length, 64u) << i;
  }
}

}  // namespace
}  // namespace terrace::engine
