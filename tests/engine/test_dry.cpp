#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "engine/dry.h"
#include "sampler_probe.h"

namespace terrace::engine {
namespace {

TEST(Dry, RepeatedSuffixes) {
  const auto slow = [](const std::vector<int32_t>& tokens) {
    std::vector<uint32_t> out;
    for (size_t distance = 0; distance < tokens.size(); ++distance) {
      uint32_t n = 0;
      while (n + distance < tokens.size() && tokens[tokens.size() - 1 - n] == tokens[tokens.size() - 1 - n - distance])
        ++n;
      out.push_back(n);
    }
    return out;
  };
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const CounterRandom random(seed);
    std::vector<int32_t> tokens(seed % 40);
    for (size_t i = 0; i < tokens.size(); ++i) tokens[i] = static_cast<int32_t>(random.bits(i) % (1 + seed % 3));
    EXPECT_EQ(repeated_suffixes(tokens), slow(tokens));
  }
  // Quadratic work on this would take minutes.
  const std::vector<int32_t> same(1'000'000, 7);
  EXPECT_EQ(repeated_suffixes(same)[1], 999'999u);
}

// Each character is a token, except that 'A' and 'B' stand for the texts below.
std::string_view token_text(int32_t id) {
  static const std::string characters = [] {
    std::string out;
    for (int c = 0; c < 128; ++c) out.push_back(static_cast<char>(c));
    return out;
  }();
  if (id == 'A') return "xx<";
  if (id == 'B') return "br>yy";
  return std::string_view(characters).substr(static_cast<size_t>(id), 1);
}

double dry_loss(const SamplerOptions& options, std::string_view context, char next) {
  Sampler sampler(options, 128, token_text);
  for (const char c : context) sampler.accept(c == '!' ? -1 : c);
  return 10 - adjusted(sampler, next, 10, 128);
}

TEST(Dry, TheTokenThatGoesOnLosesByTheLengthOfTheRepetition) {
  SamplerOptions o = greedy();
  o.dry_multiplier = 0.8;
  EXPECT_NEAR(dry_loss(o, "abccbcyabc", 'c'), 0.8 * 1.75, 1e-4);  // after "abc", 3 tokens
  EXPECT_NEAR(dry_loss(o, "abccbcyabc", 'y'), 0.8, 1e-4);         // after "bc", 2 tokens
  EXPECT_NEAR(dry_loss(o, "abccbcyabc", 'b'), 0, 1e-4);           // after "c" only
  EXPECT_NEAR(dry_loss(o, "abccbcyabc", 'z'), 0, 1e-4);
  EXPECT_NEAR(dry_loss(o, "abcdeXabcdYabcd", 'e'), 0.8 * 1.75 * 1.75, 1e-4);
  o.dry_allowed_length = 4;
  EXPECT_NEAR(dry_loss(o, "abcdeXabcdYabcd", 'e'), 0.8, 1e-4);
  o.dry_allowed_length = 5;
  EXPECT_NEAR(dry_loss(o, "abcdeXabcdYabcd", 'e'), 0, 1e-4);
  o.dry_allowed_length = 2;
  o.dry_penalty_last_n = 9;  // without the first token, so "bc" is all that came before
  EXPECT_NEAR(dry_loss(o, "abccbcyabc", 'c'), 0.8, 1e-4);
  o.dry_penalty_last_n = 0;
  EXPECT_NEAR(dry_loss(o, "abccbcyabc", 'c'), 0, 1e-4);
  o.dry_penalty_last_n = -1;
  o.dry_base = 0.5;
  EXPECT_NEAR(dry_loss(o, "abccbcyabc", 'c'), 0, 1e-4);
  o.dry_base = 1.75;
  // The power is held to what a float can be, so a long repetition makes a token unlikely and does not ban it.
  Sampler sampler(o, 128);
  for (int i = 0; i < 5000; ++i) sampler.accept('a');
  std::vector<float> logits(128, -1e30f);
  logits['a'] = 0;
  EXPECT_EQ(sampler.sample(logits), 0);
  std::fill(logits.begin(), logits.end(), -INFINITY);
  logits['a'] = 0;
  EXPECT_EQ(sampler.sample(logits), 'a');
}

TEST(Dry, BreakersStopTheRepetition) {
  SamplerOptions o = greedy();
  o.dry_multiplier = 1;
  o.dry_base = 2;
  EXPECT_NEAR(dry_loss(o, "abcdXYZabc", 'd'), 2, 1e-4);
  EXPECT_NEAR(dry_loss(o, "a:bcdXYZa:bc", 'd'), 1, 1e-4);  // only "bc" counts
  EXPECT_NEAR(dry_loss(o, "ab:cdXYZab:c", 'd'), 0, 1e-4);
  EXPECT_NEAR(dry_loss(o, "abc:XYZabc", ':'), 0, 1e-4);  // a breaker is never punished
  EXPECT_NEAR(dry_loss(o, "a!bcdXYZa!bc", 'd'), 1, 1e-4);
  o.dry_sequence_breakers = {};
  EXPECT_NEAR(dry_loss(o, "a:bcdXYZa:bc", 'd'), 4, 1e-4);
  EXPECT_NEAR(dry_loss(o, "abc:XYZabc", ':'), 2, 1e-4);
  // A breaker of several characters, over one, two or more tokens.
  o.dry_sequence_breakers = {"<br>", "never here"};
  EXPECT_NEAR(dry_loss(o, "a<br>bcdXYZa<br>bc", 'd'), 1, 1e-4);
  EXPECT_NEAR(dry_loss(o, "aABbcdXYZaABbc", 'd'), 1, 1e-4);
  EXPECT_NEAR(dry_loss(o, "aBAbcdXYZaBAbc", 'd'), 8, 1e-4);
  EXPECT_NEAR(dry_loss(o, "a<brbcdXYZa<brbc", 'd'), 16, 1e-4);
  EXPECT_NEAR(dry_loss(o, "abcAXYZabc", 'A'), 2, 1e-4);  // only a part of one
}

}  // namespace
}  // namespace terrace::engine
