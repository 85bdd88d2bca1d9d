// Sequences that share steps, and sequences that go back: the same bits as alone and straight ahead.
#include <gtest/gtest.h>

#include <array>

#include "model/runs.h"

namespace terrace::engine {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

/// One of several sequences that advance together, each by its own stride.
struct Runner {
  std::vector<int32_t> tokens;
  size_t stride;
  Sequence sequence;
  std::vector<float> logits;
};

/// Steps until all have fed all their tokens; who is done sits out.
void run_together(Engine& engine, std::vector<Runner>& runners) {
  for (;;) {
    std::vector<Advance> advances;
    std::vector<Runner*> order;
    for (Runner& runner : runners) {
      const size_t done = runner.sequence.size(), left = runner.tokens.size() - done;
      if (left == 0) continue;
      advances.push_back({&runner.sequence, std::span(runner.tokens).subspan(done, std::min(runner.stride, left)),
                          Advance::Logits::all});
      order.push_back(&runner);
    }
    if (advances.empty()) return;
    const compute::Rows logits = take(engine.step(advances));
    size_t row = 0;
    for (size_t i = 0; i < advances.size(); ++i) {
      for (size_t r = 0; r < advances[i].tokens.size(); ++r, ++row)
        order[i]->logits.insert(order[i]->logits.end(), logits.row(row), logits.row(row) + logits.width);
    }
  }
}

class Batching : public ::testing::TestWithParam<Numeric> {};

TEST_P(Batching, CompanionsDoNotMatter) {
  for (const std::string& model : kModels) {
    const auto tokens = recorded_tokens(model);
    const std::vector<int32_t> reversed(tokens.rbegin(), tokens.rbegin() + 71),
        rotated(tokens.begin() + 30, tokens.begin() + 130);
    for (const size_t threads : {1, 3}) {
      const auto engine = load(model, {.threads = threads, .numeric = GetParam()});
      for (const auto& strides : {std::array<size_t, 3>{1, 1, 1}, {5, 64, 1}, {160, 3, 33}}) {
        std::vector<Runner> runners(3);
        const std::vector<int32_t>* lists[] = {&tokens, &reversed, &rotated};
        for (size_t i = 0; i < 3; ++i) {
          runners[i].tokens = *lists[i];
          runners[i].stride = strides[i];
        }
        run_together(*engine, runners);
        for (const Runner& runner : runners)
          ASSERT_TRUE(same_bits(runner.logits, logits_of(*engine, runner.tokens, 50)))
              << model << " " << threads << " threads";
      }
    }
  }
}

TEST_P(Batching, GoingBackAndOnAgainDoesNotMatter) {
  const auto tokens = recorded_tokens("llama");
  const auto engine = load("llama", {.threads = 2, .numeric = GetParam()});
  const auto expected = logits_of(*engine, tokens, tokens.size());
  const size_t width = engine->info().vocabulary;
  const std::vector<int32_t> others(tokens.rbegin(), tokens.rend());
  for (const size_t length : {0, 1, 63, 64, 65, 100, 127, 128, 159}) {
    Sequence sequence;
    feed(*engine, sequence, std::span(tokens).first(length), 40);
    feed(*engine, sequence, std::span(others).first(90), 90);  // what is forgotten leaves no trace
    sequence.truncate(length);
    ASSERT_EQ(sequence.size(), length);
    const auto rest = feed(*engine, sequence, std::span(tokens).subspan(length), 13);
    ASSERT_TRUE(same_bits(rest, std::span(expected).subspan(length * width))) << "from " << length;
  }
}

INSTANTIATE_TEST_SUITE_P(Profiles, Batching, ::testing::Values(Numeric::standard, Numeric::reference),
                         [](const auto& profile) {
                           return profile.param == Numeric::standard ? "standard" : "reference";
                         });

TEST(Step, LogitsOfTheLastRowOrNoneAreThoseOfAllRows) {
  const auto tokens = recorded_tokens("llama");
  const auto engine = load("llama", {});
  const auto expected = logits_of(*engine, tokens, 100);
  Sequence a, b;
  const Advance advances[] = {{&a, std::span(tokens).first(70), Advance::Logits::none},
                              {&b, std::span(tokens).first(90), Advance::Logits::last}};
  const compute::Rows logits = take(engine->step(advances));
  ASSERT_EQ(logits.count, 1u);
  ASSERT_TRUE(
      same_bits(std::span(logits.row(0), logits.width), std::span(expected).subspan(89 * logits.width, logits.width)));
}

TEST(Step, AnErrorLeavesTheSequenceAsItWas) {
  const auto tokens = recorded_tokens("llama");
  const auto engine = load("llama", {.context = 100});
  Sequence sequence;
  feed(*engine, sequence, std::span(tokens).first(60), 60);
  const auto step = [&](std::vector<int32_t> more) {
    const Advance advances[] = {{&sequence, more}};
    return message_of(engine->step(advances));
  };
  EXPECT_NE(step({1, 1024}).find("token 1024 does not exist"), std::string::npos);
  EXPECT_NE(step({-1}).find("token -1 does not exist"), std::string::npos);
  EXPECT_NE(step(std::vector<int32_t>(41)).find("context is full"), std::string::npos);
  EXPECT_NE(step({}), "");
  EXPECT_EQ(sequence.size(), 60u);
  const auto rest = feed(*engine, sequence, std::span(tokens).subspan(60, 40), 40);
  const auto expected = logits_of(*engine, std::span(tokens).first(100), 100);
  EXPECT_TRUE(same_bits(rest, std::span(expected).last(rest.size())));
}

}  // namespace
}  // namespace terrace::engine
