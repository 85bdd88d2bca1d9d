// Logits of the fixtures: as recorded from the reference implementation, and the same bits however the work is split.
#include <gtest/gtest.h>

#include "model/agreement.h"
#include "model/runs.h"

namespace terrace::engine {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

struct Bound {
  double error, kl, within;
};

/// What the reference profile must reach. Delta nets: the reference's own chunked and stepwise forms differ by as much.
/// Sparse attention and 4-bit experts: a choice between two nearly equal candidates may fall the other way.
Bound bound_of(const std::string& model) {
  if (model.starts_with("qwen4exp") || model == "gptoss") return {INFINITY, 1e-6, 0.99};
  if (model.starts_with("qwen35") || model == "qwen3next") return {2e-3, 1e-7, 0.99};
  return {1e-4, 1e-7, 1};
}

TEST(Golden, ReferenceProfileGivesTheRecordedLogits) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    const Arrays golden(fixture(model + "/golden.safetensors"));
    const auto tokens = golden.values<int32_t>("tokens");
    const auto expected = golden.values<float>("logits");
    const auto engine = load(model, {.numeric = Numeric::reference});
    const size_t width = engine->info().vocabulary;
    Sequence sequence;
    auto logits = feed(*engine, sequence, std::span(tokens).first(tokens.size() - 16), tokens.size());
    const Checkpoint before = sequence.checkpoint();
    const auto rest = feed(*engine, sequence, std::span(tokens).last(16), 16);
    logits.insert(logits.end(), rest.begin(), rest.end());
    const Agreement whole = agreement(expected, logits, width);
    const Bound bound = bound_of(model);
    EXPECT_LE(whole.error, bound.error);
    EXPECT_LE(whole.kl, bound.kl);
    EXPECT_GE(whole.within, bound.within);
    if (!golden.contains("logits_step")) continue;
    sequence.restore(before);
    const auto steps = feed(*engine, sequence, std::span(tokens).last(16), 1);
    const Agreement stepwise = agreement(golden.values<float>("logits_step"), steps, width);
    EXPECT_LE(stepwise.error, bound.error);
    EXPECT_LE(stepwise.kl, bound.kl);
  }
}

TEST(Golden, StandardProfileOfFloatWeightsDiffersOnlyByItsKeysAndValues) {
  for (const std::string& model : kModels) {
    const Arrays golden(fixture(model + "/golden.safetensors"));
    const auto engine = load(model, {});
    const auto logits = logits_of(*engine, golden.values<int32_t>("tokens"), 512);
    // gpt-oss has 4-bit experts, which take activations in 8-bit codes; in gemma4-moe, half-precision keys flip one
    // router's choice.
    EXPECT_LT(agreement(golden.values<float>("logits"), logits, engine->info().vocabulary).kl, model == "gptoss" ? 2e-2
                                                                                               : model == "gemma4-moe"
                                                                                                   ? 1e-3
                                                                                                   : 2e-5)
        << model;
  }
}

class Split : public ::testing::TestWithParam<std::tuple<std::string, Numeric>> {
 protected:
  const std::string model_ = std::get<0>(GetParam());
  const Numeric numeric_ = std::get<1>(GetParam());
  const std::vector<int32_t> tokens_ = recorded_tokens(model_);
};

TEST_P(Split, ChunksAndThreadsDoNotMatter) {
  const auto expected = logits_of(*load(model_, {.threads = 1, .numeric = numeric_}), tokens_, tokens_.size());
  for (const size_t threads : {1, 2, 3}) {
    const auto engine = load(model_, {.threads = threads, .numeric = numeric_});
    for (const size_t chunk : {size_t{1}, size_t{7}, size_t{64}, tokens_.size()})
      ASSERT_TRUE(same_bits(logits_of(*engine, tokens_, chunk), expected))
          << threads << " threads, chunks of " << chunk;
  }
}

TEST_P(Split, InstructionSetsAgree) {
  const auto expected =
      logits_of(*load(model_, {.threads = 1, .isa = "scalar", .numeric = numeric_}), tokens_, tokens_.size());
  for (const compute::Kernels* kernels : compute::usable_kernels()) {
    const auto engine = load(model_, {.threads = 2, .isa = kernels->name, .numeric = numeric_});
    for (const size_t chunk : {size_t{7}, tokens_.size()})
      ASSERT_TRUE(same_bits(logits_of(*engine, tokens_, chunk), expected)) << kernels->name << ", chunks of " << chunk;
  }
}

std::string split_name(const ::testing::TestParamInfo<std::tuple<std::string, Numeric>>& info) {
  std::string name =
      std::get<0>(info.param) + (std::get<1>(info.param) == Numeric::standard ? "_standard" : "_reference");
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Models, Split,
                         ::testing::Combine(::testing::ValuesIn(kModels),
                                            ::testing::Values(Numeric::standard, Numeric::reference)),
                         split_name);

TEST(KeysAndValuesInFloat, AreSplitInvariantToo) {
  const auto tokens = recorded_tokens("llama");
  const auto engine = load("llama", {.threads = 2, .half_kv = false});
  const auto expected = logits_of(*engine, tokens, tokens.size());
  for (const size_t chunk : {1, 7, 64}) ASSERT_TRUE(same_bits(logits_of(*engine, tokens, chunk), expected)) << chunk;
}

}  // namespace
}  // namespace terrace::engine
