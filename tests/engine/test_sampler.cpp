#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "engine/sampler.h"
#include "sampler_probe.h"

namespace terrace::engine {
namespace {

using testing::HasSubstr;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Nothing is filtered, so that a test can add the one thing it is about.
SamplerOptions plain() {
  SamplerOptions o;
  o.temperature = 1;
  o.top_k = 0;
  o.top_p = 1;
  o.min_p = 0;
  o.seed = 42;
  return o;
}

void expect_shares(const SamplerOptions& options, const std::vector<float>& logits, const std::vector<double>& shares) {
  constexpr int kDraws = 40000;
  Sampler sampler(options, logits.size());
  std::vector<double> seen(logits.size());
  for (int i = 0; i < kDraws; ++i) ++seen[static_cast<size_t>(sampler.sample(logits))];
  double chi_square = 0;
  int free = -1;
  for (size_t i = 0; i < shares.size(); ++i) {
    if (shares[i] == 0) {
      EXPECT_EQ(seen[i], 0) << i;
      continue;
    }
    const double expected = shares[i] * kDraws;
    chi_square += (seen[i] - expected) * (seen[i] - expected) / expected;
    ++free;
  }
  // Mean plus four standard deviations of the distribution.
  EXPECT_LT(chi_square, free + 4 * std::sqrt(2.0 * free) + 1e-9);
}

std::vector<float> logs(const std::vector<double>& shares) {
  std::vector<float> out;
  for (const double share : shares) out.push_back(static_cast<float>(std::log(share)));
  return out;
}

TEST(Sampler, GreedyTakesTheLowestOfTheBest) {
  for (const double temperature : {0.0, -1.0}) {
    SamplerOptions o = greedy();
    o.temperature = temperature;
    Sampler sampler(o, 5);
    EXPECT_EQ(sampler.sample(std::vector<float>{1, 4, 4, 2, 4}), 1);
    EXPECT_EQ(sampler.sample(std::vector<float>{-5, -4, -3, -2, -1}), 4);
  }
}

TEST(Sampler, EdgesOfTheParameters) {
  const std::vector<float> logits = {0, 3, 1, 2, 2.5};
  const auto always = [&](const std::function<void(SamplerOptions&)>& change) {
    SamplerOptions o = plain();
    change(o);
    EXPECT_TRUE(validate(o, logits.size()));
    Sampler sampler(o, logits.size());
    for (int i = 0; i < 200; ++i) ASSERT_EQ(sampler.sample(logits), 1);
  };
  always([](SamplerOptions& o) { o.top_p = 0; });
  always([](SamplerOptions& o) { o.min_p = 1; });
  always([](SamplerOptions& o) { o.top_k = 1; });
  always([](SamplerOptions& o) { o.temperature = 1e-30; });
  always([](SamplerOptions& o) { o.temperature = 5e-324; });
  always([](SamplerOptions& o) { o.top_k = -1, o.temperature = -1; });
  // Off, not greedy: every token comes.
  for (const int64_t top_k : {int64_t{0}, int64_t{-1}, int64_t{1'000'000'000}}) {
    SamplerOptions o = plain();
    o.top_k = top_k;
    o.min_keep = 0;
    Sampler sampler(o, logits.size());
    std::map<int32_t, int> seen;
    for (int i = 0; i < 1000; ++i) ++seen[sampler.sample(logits)];
    EXPECT_EQ(seen.size(), logits.size());
  }
}

TEST(Sampler, BrokenLogits) {
  const std::vector<float> nothing = {NAN, -INFINITY, NAN, -INFINITY};
  for (const double temperature : {0.0, 1.0}) {
    for (const int mirostat : {0, 2}) {
      SamplerOptions o;
      o.temperature = temperature;
      o.mirostat = mirostat;
      o.typical_p = 0.5;
      o.dynatemp_range = 0.5;
      o.xtc_probability = 1;
      EXPECT_EQ(Sampler(o, 4).sample(nothing), 0);
      EXPECT_EQ(Sampler(o, 4).sample({}), 0);
      EXPECT_EQ(Sampler(o, 4).sample(std::vector<float>{NAN, -INFINITY, -7, NAN}), 2);
      EXPECT_EQ(Sampler(o, 4).sample(std::vector<float>{5, NAN, INFINITY, 9}), 2);
      EXPECT_EQ(Sampler(o, 4).sample(std::vector<float>{1, -INFINITY, -INFINITY, -INFINITY, 99, 99}), 0);  // padding
      o.logit_bias = {{0, -1.f}, {2, 3.f}, {3, 3.f}};
      EXPECT_EQ(Sampler(o, 4).sample(nothing), 2);
      o.logit_bias = {{0, -INFINITY}};
      EXPECT_EQ(Sampler(o, 4).sample(nothing), 1);
      EXPECT_EQ(Sampler(o, 4).sample(std::vector<float>{INFINITY, 0, -INFINITY, -INFINITY}), 1);
    }
  }
}

TEST(Sampler, DrawsFollowTheProbabilities) {
  const std::vector<double> shares = {0.4, 0.3, 0.15, 0.1, 0.05};
  const auto logits = logs(shares);
  SamplerOptions o = plain();
  expect_shares(o, logits, shares);
  o.top_k = 2;
  expect_shares(o, logits, {4 / 7.0, 3 / 7.0, 0, 0, 0});
  o = plain();
  o.top_p = 0.8;
  expect_shares(o, logits, {0.4 / 0.85, 0.3 / 0.85, 0.15 / 0.85, 0, 0});
  o = plain();
  o.min_p = 0.3;
  expect_shares(o, logits, {0.4 / 0.85, 0.3 / 0.85, 0.15 / 0.85, 0, 0});
  o = plain();
  o.xtc_probability = 1;
  o.xtc_threshold = 0.12;
  expect_shares(o, logits, {0, 0, 0.5, 1 / 3.0, 1 / 6.0});
  o.xtc_probability = 0.25;
  expect_shares(o, logits, {0.3, 0.225, 0.1125 + 0.125, 0.075 + 1 / 12.0, 0.0375 + 1 / 24.0});
  o = plain();
  o.temperature = 0.5;
  expect_shares(o, logits, {0.16 / 0.285, 0.09 / 0.285, 0.0225 / 0.285, 0.01 / 0.285, 0.0025 / 0.285});
  o = plain();
  o.logit_bias = {{4, static_cast<float>(std::log(4.0))}, {4, static_cast<float>(std::log(2.0))}, {0, -INFINITY}};
  expect_shares(o, logits, {0, 0.3 / 0.95, 0.15 / 0.95, 0.1 / 0.95, 0.4 / 0.95});
}

// Each of these comes out otherwise if the two steps change places.
TEST(Sampler, TheOrderOfTheSteps) {
  const auto logits = logs({0.4, 0.3, 0.15, 0.1, 0.05});
  SamplerOptions o = plain();
  o.top_k = 4;
  o.top_p = 0.72;  // of what top-k left, the first two have 0.737
  expect_shares(o, logits, {4 / 7.0, 3 / 7.0, 0, 0, 0});
  o = plain();
  o.top_p = 0.8;
  o.min_p = 0.3;  // leaves three, of which the first two would have 0.82
  expect_shares(o, logits, {0.4 / 0.85, 0.3 / 0.85, 0.15 / 0.85, 0, 0});
  o = plain();
  o.min_p = 0.3;
  o.temperature = 0.5;  // which would bring the third below min-p
  expect_shares(o, logits, {0.16 / 0.2725, 0.09 / 0.2725, 0.0225 / 0.2725, 0, 0});
  o.temperature = 1;
  o.xtc_probability = 1;
  o.xtc_threshold = 0.16;  // the third passes it only once min-p has removed the last two
  expect_shares(o, logits, {0, 0, 1, 0, 0});
  o = plain();
  o.typical_p = 0.5;  // leaves the second and the first; after top-p it would leave the first alone
  o.top_p = 0.6;
  expect_shares(o, logits, {4 / 7.0, 3 / 7.0, 0, 0, 0});
}

TEST(Sampler, TheSameSeedGivesTheSameTokens) {
  std::vector<float> logits(1000);
  for (size_t i = 0; i < logits.size(); ++i) logits[i] = static_cast<float>(std::sin(static_cast<double>(i)));
  const auto tokens = [&](Sampler& sampler) {
    std::vector<int32_t> out;
    for (int i = 0; i < 50; ++i) {
      out.push_back(sampler.sample(logits));
      sampler.accept(out.back());
    }
    return out;
  };
  for (const int mirostat : {0, 2}) {
    SamplerOptions o = plain();
    o.mirostat = mirostat;
    o.repeat_penalty = 1.3;
    o.dry_multiplier = 1;
    Sampler a(o, logits.size());
    Sampler b(o, logits.size());
    const auto first = tokens(a);
    EXPECT_EQ(tokens(b), first);
    Sampler copy = a;
    const auto second = tokens(a);
    EXPECT_NE(second, first);
    EXPECT_EQ(tokens(copy), second);
    a.reset();
    EXPECT_EQ(tokens(a), first);
    o.seed = 43;
    Sampler other(o, logits.size());
    EXPECT_NE(tokens(other), first);
    o.seed = static_cast<uint64_t>(-1);
    Sampler random(o, logits.size());
    EXPECT_NE(random.seed(), kRandomSeed);
    const auto chosen = tokens(random);
    o.seed = random.seed();
    Sampler again(o, logits.size());
    EXPECT_EQ(tokens(again), chosen);
    random.reset();
    EXPECT_EQ(tokens(random), chosen);
  }
}

TEST(Sampler, PenaltiesFollowTheirFormulas) {
  SamplerOptions o = greedy();
  o.repeat_penalty = 1.5;
  o.frequency_penalty = 0.25;
  o.presence_penalty = 0.5;
  o.repeat_last_n = 4;
  Sampler sampler(o, 10);
  for (const int32_t token : {3, 3, 1, 3, 2, 3}) sampler.accept(token);  // the window is 1 3 2 3
  EXPECT_NEAR(adjusted(sampler, 3, 6, 10), 6 / 1.5 - 2 * 0.25 - 0.5, 1e-4);
  EXPECT_NEAR(adjusted(sampler, 3, -6, 10), -6 * 1.5 - 2 * 0.25 - 0.5, 1e-4);
  EXPECT_NEAR(adjusted(sampler, 2, 6, 10), 6 / 1.5 - 0.25 - 0.5, 1e-4);
  EXPECT_NEAR(adjusted(sampler, 4, 6, 10), 6, 1e-4);
  sampler.accept(-1);
  sampler.accept(1 << 30);  // neither is in the vocabulary; the window is now 2 3 and they
  EXPECT_NEAR(adjusted(sampler, 3, 6, 10), 6 / 1.5 - 0.25 - 0.5, 1e-4);
  EXPECT_NEAR(adjusted(sampler, 1, 6, 10), 6, 1e-4);

  o.repeat_last_n = -1;
  Sampler all(o, 10);
  for (int i = 0; i < 100; ++i) all.accept(5);
  EXPECT_NEAR(adjusted(all, 5, 6, 10), 6 / 1.5 - 100 * 0.25 - 0.5, 1e-4);
  o.repeat_last_n = 0;
  Sampler none(o, 10);
  none.accept(5);
  EXPECT_NEAR(adjusted(none, 5, 6, 10), 6, 1e-4);
}

TEST(Sampler, HugePenaltiesBanTheToken) {
  for (const auto field : {&SamplerOptions::frequency_penalty, &SamplerOptions::presence_penalty}) {
    SamplerOptions o;
    o.*field = 1e300;
    ASSERT_TRUE(validate(o, 3));
    Sampler sampler(o, 3);
    sampler.accept(0);
    EXPECT_EQ(sampler.sample(std::vector<float>{1, -50, -INFINITY}), 1);
  }
}

TEST(Sampler, MirostatHoldsItsSurprise) {
  std::vector<float> logits(2000);
  for (size_t i = 0; i < logits.size(); ++i)
    logits[i] = static_cast<float>(-0.8 * std::log(static_cast<double>(i + 1)));
  for (const double tau : {2.0, 4.0, 6.0}) {
    SamplerOptions o = plain();
    o.mirostat = 2;
    o.mirostat_tau = tau;
    o.mirostat_eta = 0.1;
    Sampler sampler(o, logits.size());
    // The surprise within the truncated set, from the limit as it is moved by the rule.
    double mu = 2 * tau;
    double sum = 0;
    std::vector<double> weights;
    for (int i = 0; i < 1000; ++i) {
      const int32_t token = sampler.sample(logits);
      Candidates c;
      c.assign(logits);
      keep_surprise(c, mu, 1, weights);
      const double total = softmax_weights(c, 1, weights);
      ASSERT_LT(static_cast<size_t>(token), c.entries.size());  // the ids are in the order of the probabilities
      const double surprise = -std::log2(weights[static_cast<size_t>(token)] / total);
      mu -= o.mirostat_eta * (surprise - tau);
      if (i >= 200) sum += surprise;
    }
    EXPECT_NEAR(sum / 800, tau, 0.15);
  }
}

TEST(SamplerOptions, Validation) {
  EXPECT_TRUE(validate(SamplerOptions{}, 10));
  const auto message = [](const std::function<void(SamplerOptions&)>& change) {
    SamplerOptions o;
    change(o);
    const Status status = validate(o, 10);
    return status ? std::string() : status.error().message;
  };
  const std::map<std::string, double SamplerOptions::*> numbers = {
      {"temperature", &SamplerOptions::temperature},
      {"dynatemp_range", &SamplerOptions::dynatemp_range},
      {"dynatemp_exponent", &SamplerOptions::dynatemp_exponent},
      {"top_p", &SamplerOptions::top_p},
      {"min_p", &SamplerOptions::min_p},
      {"typical_p", &SamplerOptions::typical_p},
      {"xtc_probability", &SamplerOptions::xtc_probability},
      {"xtc_threshold", &SamplerOptions::xtc_threshold},
      {"repeat_penalty", &SamplerOptions::repeat_penalty},
      {"frequency_penalty", &SamplerOptions::frequency_penalty},
      {"presence_penalty", &SamplerOptions::presence_penalty},
      {"dry_multiplier", &SamplerOptions::dry_multiplier},
      {"dry_base", &SamplerOptions::dry_base},
      {"mirostat_tau", &SamplerOptions::mirostat_tau},
      {"mirostat_eta", &SamplerOptions::mirostat_eta}};
  for (const auto& [name, field] : numbers) {
    for (const double bad : {kNan, kInfinity, -kInfinity}) {
      EXPECT_THAT(message([&, f = field](SamplerOptions& o) { o.*f = bad; }), HasSubstr(name + " is "));
    }
    const std::string minus = message([&, f = field](SamplerOptions& o) { o.*f = -1; });
    const bool any_sign = name == "temperature" || name == "frequency_penalty" || name == "presence_penalty";
    EXPECT_EQ(minus.empty(), any_sign) << minus;
  }
  EXPECT_EQ(message([](SamplerOptions& o) { o.top_p = 1.5; }), "top_p is 1.5; it must be a number from 0 to 1");
  EXPECT_EQ(message([](SamplerOptions& o) { o.logit_bias = {{10, 1.f}}; }),
            "logit_bias has the token id 10; the model's ids are below 10 and not negative");
  EXPECT_THAT(message([](SamplerOptions& o) { o.logit_bias = {{-1, 1.f}}; }), HasSubstr("id -1"));
  EXPECT_THAT(message([](SamplerOptions& o) { o.logit_bias = {{1, NAN}}; }), HasSubstr("token 1 is nan"));
  EXPECT_THAT(message([](SamplerOptions& o) { o.logit_bias = {{1, INFINITY}}; }), HasSubstr("token 1 is inf"));
  EXPECT_EQ(message([](SamplerOptions& o) { o.logit_bias = {{9, -INFINITY}}; }), "");
  EXPECT_THAT(message([](SamplerOptions& o) { o.mirostat = 1; }), HasSubstr("mirostat is 1"));
  EXPECT_THAT(message([](SamplerOptions& o) { o.repeat_penalty = 0; }), HasSubstr("repeat_penalty is 0"));
  EXPECT_THAT(message([](SamplerOptions& o) { o.repeat_last_n = -2; }), HasSubstr("repeat_last_n is -2"));
  EXPECT_THAT(message([](SamplerOptions& o) { o.dry_penalty_last_n = -2; }), HasSubstr("dry_penalty_last_n is -2"));
  EXPECT_THAT(message([](SamplerOptions& o) { o.dry_allowed_length = -1; }), HasSubstr("dry_allowed_length is -1"));
  EXPECT_THAT(message([](SamplerOptions& o) { o.dry_sequence_breakers = {"a", ""}; }),
              HasSubstr("dry_sequence_breakers[1] has 0 bytes"));
  EXPECT_THAT(message([](SamplerOptions& o) { o.dry_sequence_breakers.assign(65, "a"); }), HasSubstr("has 65 entries"));
}

}  // namespace
}  // namespace terrace::engine
