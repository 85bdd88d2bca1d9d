#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "engine/sampler_filters.h"
#include "engine/sampler_random.h"

namespace terrace::engine {
namespace {

// The reference: all sorted, all probabilities written out, one decision per token.
struct Known {
  int32_t id;
  double logit;
  double p;
};

std::vector<Known> all_sorted(const std::vector<float>& logits, double temperature = 1) {
  std::vector<Known> out;
  double largest = -1e300;
  for (size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == -INFINITY) continue;
    out.push_back({static_cast<int32_t>(i), logits[i], 0});
    largest = std::max(largest, static_cast<double>(logits[i]));
  }
  double sum = 0;
  for (Known& k : out) sum += k.p = std::exp((k.logit - largest) / temperature);
  for (Known& k : out) k.p /= sum;
  std::stable_sort(out.begin(), out.end(), [](const Known& a, const Known& b) { return a.logit > b.logit; });
  return out;
}

std::set<int32_t> ids(const std::vector<Known>& known) {
  std::set<int32_t> out;
  for (const Known& k : known) out.insert(k.id);
  return out;
}

std::set<int32_t> ids(const Candidates& candidates) {
  std::set<int32_t> out;
  for (const Candidate& c : candidates.entries) out.insert(c.id);
  EXPECT_EQ(out.size(), candidates.entries.size());
  return out;
}

// The entries that are said to be sorted are the best ones, in order.
void expect_sorted_front(const Candidates& c) {
  ASSERT_LE(c.sorted, c.entries.size());
  for (size_t i = 0; i + 1 < c.sorted; ++i) EXPECT_TRUE(better(c.entries[i], c.entries[i + 1]));
  for (size_t i = c.sorted; c.sorted > 0 && i < c.entries.size(); ++i) {
    EXPECT_TRUE(better(c.entries[c.sorted - 1], c.entries[i]));
  }
}

std::vector<float> random_logits(uint64_t seed, size_t size, double spread, bool ties) {
  const CounterRandom random(seed);
  std::vector<float> out(size);
  for (size_t i = 0; i < size; ++i) {
    const double value = spread * (random.uniform(3 * i) + random.uniform(3 * i + 1) + random.uniform(3 * i + 2) - 1.5);
    out[i] = static_cast<float>(ties ? std::round(value) : value);
  }
  return out;
}

Candidates from(const std::vector<float>& logits) {
  Candidates c;
  c.assign(logits);
  return c;
}

// Each filter on vocabularies of several sizes, alone and after a top-k.
template <class Check>
void for_many(Check check) {
  uint64_t seed = 0;
  for (const size_t size : {1u, 2u, 7u, 300u, 5000u}) {
    for (const double spread : {0.1, 4.0, 30.0}) {
      for (const bool sorted : {false, true}) {
        const auto logits = random_logits(++seed, size, spread, false);
        SCOPED_TRACE(testing::Message() << "size " << size << " spread " << spread << " sorted " << sorted);
        Candidates c = from(logits);
        if (sorted) c.sort_front(size);
        check(all_sorted(logits), c);
      }
    }
  }
}

const std::vector<double> kShares = {0, 0.001, 0.1, 0.5, 0.95, 0.9999, 1};

TEST(SamplerFilters, NothingImpossibleBecomesACandidate) {
  const Candidates c = from({NAN, -INFINITY, 1, INFINITY, -3});
  ASSERT_EQ(c.entries.size(), 3u);
  EXPECT_EQ(ids(c), (std::set<int32_t>{2, 3, 4}));
  EXPECT_EQ(c.entries[1].logit, std::numeric_limits<float>::max());
}

TEST(SamplerFilters, BestCandidates) {
  for (const bool ties : {false, true}) {
    for (const size_t size : {1u, 5u, 4000u}) {
      const auto logits = random_logits(7, size, 8, ties);
      const auto known = all_sorted(logits);
      for (const size_t k : {0u, 1u, 3u, 1024u, 1500u, 4000u, 1000000000u}) {
        Candidates c = from(logits);
        c.sort_front(k / 2);
        expect_sorted_front(c);
        c.keep_best(k);
        ASSERT_EQ(c.entries.size(), std::clamp<size_t>(k, 1, size));
        for (size_t i = 0; i < c.entries.size(); ++i) ASSERT_EQ(c.entries[i].id, known[i].id);
        Candidates direct = from({1, 2});
        direct.assign_best(logits, k);
        ASSERT_EQ(direct.entries.size(), c.entries.size());
        ASSERT_EQ(direct.sorted, c.entries.size());
        for (size_t i = 0; i < c.entries.size(); ++i) ASSERT_EQ(direct.entries[i].id, known[i].id);
      }
    }
  }
}

TEST(SamplerFilters, BestOfBrokenLogits) {
  std::vector<float> logits(40, NAN);
  Candidates c;
  for (const size_t k : {1u, 2u, 2000u}) {
    c.assign_best(logits, k);
    EXPECT_TRUE(c.entries.empty());
  }
  EXPECT_EQ(largest_logit(logits), -INFINITY);
  EXPECT_EQ(largest_logit({}), -INFINITY);
  logits[3] = -INFINITY;
  logits[7] = -5;
  logits[20] = logits[30] = logits[38] = INFINITY;
  EXPECT_EQ(largest_logit(logits), INFINITY);
  c.assign_best(logits, 2);
  EXPECT_EQ(ids(c), (std::set<int32_t>{20, 30}));
  c.assign_best(logits, 30);
  EXPECT_EQ(ids(c), (std::set<int32_t>{7, 20, 30, 38}));
  for (size_t i = 0; i < logits.size(); ++i) {
    std::vector<float> one(40, NAN);
    one[i] = -3;
    EXPECT_EQ(largest_logit(one), -3);
  }
}

TEST(SamplerFilters, TopP) {
  std::vector<double> weights;
  for_many([&](const std::vector<Known>& known, const Candidates& start) {
    for (const double p : kShares) {
      for (const size_t min_keep : {1u, 5u}) {
        std::vector<Known> expected;
        double sum = 0;
        for (const Known& k : known) {
          expected.push_back(k);
          sum += k.p;
          if (p < 1 && sum >= p && expected.size() >= min_keep) break;
        }
        Candidates c = start;
        keep_top_p(c, p, min_keep, weights);
        EXPECT_EQ(ids(c), ids(expected)) << p;
        expect_sorted_front(c);
      }
    }
  });
}

TEST(SamplerFilters, MinP) {
  for_many([&](const std::vector<Known>& known, const Candidates& start) {
    for (const double p : kShares) {
      for (const size_t min_keep : {1u, 5u}) {
        std::vector<Known> expected;
        for (const Known& k : known) {
          if (expected.size() < min_keep || k.p >= p * known[0].p * (1 - 1e-12)) expected.push_back(k);
        }
        Candidates c = start;
        keep_min_p(c, p, min_keep);
        EXPECT_EQ(ids(c), ids(expected)) << p;
        expect_sorted_front(c);
      }
    }
  });
  Candidates equals = from({3, 1, 3, 2, 3});
  keep_min_p(equals, 1, 1);
  EXPECT_EQ(ids(equals), (std::set<int32_t>{0, 2, 4}));
}

TEST(SamplerFilters, Typical) {
  std::vector<double> weights;
  for_many([&](const std::vector<Known>& known, const Candidates& start) {
    double entropy = 0;
    for (const Known& k : known) entropy -= k.p * std::log(k.p);
    auto by_distance = known;
    std::stable_sort(by_distance.begin(), by_distance.end(), [&](const Known& a, const Known& b) {
      return std::abs(-std::log(a.p) - entropy) < std::abs(-std::log(b.p) - entropy);
    });
    for (const double p : kShares) {
      for (const size_t min_keep : {1u, 5u}) {
        std::vector<Known> expected;
        double sum = 0;
        for (const Known& k : by_distance) {
          expected.push_back(k);
          sum += k.p;
          if (p < 1 && sum > p && expected.size() >= min_keep) break;
        }
        Candidates c = start;
        keep_typical(c, p, min_keep, weights);
        EXPECT_EQ(ids(c), ids(expected)) << p;
        expect_sorted_front(c);
      }
    }
  });
}

TEST(SamplerFilters, TopChoicesAreExcluded) {
  std::vector<double> weights;
  for_many([&](const std::vector<Known>& known, const Candidates& start) {
    for (const double threshold : {0.0, 0.0001, 0.01, 0.1, 0.3, 0.5, 0.51}) {
      for (const size_t min_keep : {1u, 5u}) {
        size_t top = 0;
        while (top < known.size() && known[top].p >= threshold) ++top;
        auto expected = known;
        if (threshold <= 0.5 && top > 1 && known.size() - (top - 1) >= min_keep) {
          expected.erase(expected.begin(), expected.begin() + static_cast<std::ptrdiff_t>(top - 1));
        }
        Candidates c = start;
        drop_top_choices(c, threshold, min_keep, weights);
        EXPECT_EQ(ids(c), ids(expected)) << threshold;
        expect_sorted_front(c);
      }
    }
  });
}

TEST(SamplerFilters, Surprise) {
  std::vector<double> weights;
  const auto logits = random_logits(3, 2000, 12, false);
  for (const double temperature : {0.5, 1.0, 2.0}) {
    for (const double limit : {-1.0, 0.0, 2.0, 6.0, 10.0, 1e9}) {
      std::vector<Known> expected;
      for (const Known& k : all_sorted(logits, temperature)) {
        if (expected.empty() || -std::log2(k.p) <= limit) expected.push_back(k);
      }
      Candidates c = from(logits);
      keep_surprise(c, limit, temperature, weights);
      EXPECT_EQ(ids(c), ids(expected));
    }
  }
}

TEST(SamplerFilters, DynamicTemperature) {
  std::vector<double> weights;
  const Candidates equal = from({1, 1, 1, 1});
  EXPECT_DOUBLE_EQ(dynamic_temperature(equal, 0.8, 0, 1, weights), 0.8);
  EXPECT_NEAR(dynamic_temperature(equal, 0.8, 0.5, 1, weights), 1.3, 1e-12);
  EXPECT_NEAR(dynamic_temperature(from({0, -1000}), 0.8, 0.5, 1, weights), 0.3, 1e-12);
  EXPECT_NEAR(dynamic_temperature(from({0, -1000}), 0.3, 0.5, 1, weights), 0, 1e-12);
  EXPECT_DOUBLE_EQ(dynamic_temperature(from({5}), 0.8, 0.5, 1, weights), 0.8);
  const double quarter = std::log(3.0);  // probabilities 3/4 and 1/4
  const double share = -(0.75 * std::log(0.75) + 0.25 * std::log(0.25)) / std::log(2.0);
  const Candidates two = from({static_cast<float>(quarter), 0});
  EXPECT_NEAR(dynamic_temperature(two, 1, 0.5, 2, weights), 0.5 + share * share, 1e-6);
}

TEST(SamplerFilters, DrawFallsWhereTheShareIs) {
  const std::vector<double> weights = {0, 1, 0, 2, 1, 0};
  EXPECT_EQ(draw(weights, 4, 0), 1u);
  EXPECT_EQ(draw(weights, 4, 0.2499), 1u);
  EXPECT_EQ(draw(weights, 4, 0.25), 3u);
  EXPECT_EQ(draw(weights, 4, 0.7499), 3u);
  EXPECT_EQ(draw(weights, 4, 0.75), 4u);
  EXPECT_EQ(draw(weights, 4.5, 0.9999), 4u);  // a total that rounding made too large
}

TEST(SamplerRandom, TheNumbersAreFixed) {
  // SplitMix64 from the state 0 begins with these, by its definition; the mix of the seed 0 is 0.
  const CounterRandom zero(0);
  EXPECT_EQ(zero.bits(0), 0xE220A8397B1DCDAFu);
  EXPECT_EQ(zero.bits(1), 0x6E789E6AA1B965F4u);
  EXPECT_EQ(zero.bits(2), 0x06C45D188009454Fu);
  const CounterRandom one(1);
  double sum = 0;
  for (uint64_t i = 0; i < 10000; ++i) {
    const double u = one.uniform(i);
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 10000, 0.5, 0.01);
}

}  // namespace
}  // namespace terrace::engine
