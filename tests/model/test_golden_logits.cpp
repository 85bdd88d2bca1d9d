// Logits of the fixtures: as recorded from the reference implementation, and the same bits however the work is split.
#include <gtest/gtest.h>

#include "model/runs.h"

namespace terrace::engine {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

double deviation(const std::vector<float>& values) {
  double sum = 0;
  double squares = 0;
  for (const float value : values) {
    sum += value;
    squares += double{value} * value;
  }
  const auto count = static_cast<double>(values.size());
  return std::sqrt(squares / count - sum / count * (sum / count));
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::fabs(double{a[i]} - b[i]);
    if (!(difference <= largest)) largest = difference;  // a NaN stays
  }
  return largest;
}

TEST(Golden, ReferenceProfileGivesTheRecordedLogits) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    const Arrays golden(fixture(model + "/golden.safetensors"));
    const auto tokens = golden.values<int32_t>("tokens");
    const auto expected = golden.values<float>("logits");
    const auto expected_step = golden.values<float>("logits_step");
    const auto engine = load(model, {.numeric = Numeric::reference});
    Sequence sequence;
    const auto logits = feed(*engine, sequence, tokens, tokens.size());
    EXPECT_LT(largest_difference(logits, expected), 1e-4 * deviation(expected));
    sequence.truncate(tokens.size() - 16);
    const auto steps = feed(*engine, sequence, std::span(tokens).last(16), 1);
    EXPECT_LT(largest_difference(steps, expected_step), 1e-4 * deviation(expected));
  }
}

TEST(Golden, StandardProfileOfFloatWeightsDiffersOnlyByItsKeysAndValues) {
  for (const std::string& model : kModels) {
    const Arrays golden(fixture(model + "/golden.safetensors"));
    const auto expected = golden.values<float>("logits");
    const auto engine = load(model, {});
    EXPECT_LT(largest_difference(logits_of(*engine, golden.values<int32_t>("tokens"), 512), expected),
              2e-2 * deviation(expected))
        << model;
  }
}

class Split : public ::testing::TestWithParam<Numeric> {};

TEST_P(Split, ChunksAndThreadsDoNotMatter) {
  for (const std::string& model : kModels) {
    const auto tokens = recorded_tokens(model);
    const auto expected = logits_of(*load(model, {.threads = 1, .numeric = GetParam()}), tokens, tokens.size());
    for (const size_t threads : {1, 2, 3}) {
      const auto engine = load(model, {.threads = threads, .numeric = GetParam()});
      for (const size_t chunk : {size_t{1}, size_t{7}, size_t{64}, tokens.size()})
        ASSERT_TRUE(same_bits(logits_of(*engine, tokens, chunk), expected))
            << model << " " << threads << " threads, chunks of " << chunk;
    }
  }
}

TEST_P(Split, InstructionSetsAgree) {
  for (const std::string& model : kModels) {
    const auto tokens = recorded_tokens(model);
    const auto expected =
        logits_of(*load(model, {.threads = 1, .isa = "scalar", .numeric = GetParam()}), tokens, tokens.size());
    for (const compute::Kernels* kernels : compute::usable_kernels()) {
      const auto engine = load(model, {.threads = 2, .isa = kernels->name, .numeric = GetParam()});
      for (const size_t chunk : {size_t{7}, tokens.size()})
        ASSERT_TRUE(same_bits(logits_of(*engine, tokens, chunk), expected))
            << model << " " << kernels->name << ", chunks of " << chunk;
    }
  }
}

TEST_P(Split, KeysAndValuesInFloatAreSplitInvariantToo) {
  const auto tokens = recorded_tokens("llama");
  const auto engine = load("llama", {.threads = 2, .numeric = GetParam(), .half_kv = false});
  const auto expected = logits_of(*engine, tokens, tokens.size());
  for (const size_t chunk : {1, 7, 64}) ASSERT_TRUE(same_bits(logits_of(*engine, tokens, chunk), expected)) << chunk;
}

INSTANTIATE_TEST_SUITE_P(Profiles, Split, ::testing::Values(Numeric::standard, Numeric::reference),
                         [](const auto& profile) {
                           return profile.param == Numeric::standard ? "standard" : "reference";
                         });

}  // namespace
}  // namespace terrace::engine
