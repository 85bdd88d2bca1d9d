// Requests that share steps: each gets the answer it has alone, whoever else comes, goes or is cancelled.
#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "engine/scheduler.h"
#include "model/runs.h"

namespace terrace::engine {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

/// Keeps what it hears.
class Recorder : public GenerationListener {
 public:
  void reading(size_t done, const Usage&) override { read.push_back(done); }
  void prompt(const std::vector<Choice>& all) override { judged = all; }
  Continuation token(const Choice& choice) override {
    tokens.push_back(choice.token);
    choices.push_back(choice);
    return on_token ? on_token(tokens.size()) : Continuation{};
  }
  void finished(Finish how, const Usage& what) override {
    finish = how;
    usage = what;
    over.set_value();
  }
  void failed(const Error& error) override {
    message = error.message;
    over.set_value();
  }
  void wait() { ASSERT_EQ(over_.wait_for(std::chrono::seconds(60)), std::future_status::ready); }

  std::vector<size_t> read;
  std::vector<int32_t> tokens;
  std::vector<Choice> choices, judged;
  std::function<Continuation(size_t count)> on_token;
  Finish finish = Finish::stop;
  Usage usage;
  std::string message;
  std::promise<void> over;

 private:
  std::future<void> over_ = over.get_future();
};

GenerationRequest request_of(std::vector<int32_t> prompt, size_t most, std::shared_ptr<Recorder> recorder,
                             double temperature = 0) {
  GenerationRequest request;
  request.prompt = std::move(prompt);
  request.sampler.temperature = temperature;
  request.sampler.seed = 7;
  request.max_tokens = most;
  request.ignore_end = true;
  request.listener = std::move(recorder);
  return request;
}

/// Its number; none if it was not taken.
std::optional<uint64_t> submit(Scheduler& scheduler, GenerationRequest request) {
  std::vector<GenerationRequest> requests;
  requests.push_back(std::move(request));
  const auto ids = scheduler.submit(std::move(requests));
  return ids.empty() ? std::nullopt : std::optional(ids.front());
}

std::shared_ptr<Recorder> run(Scheduler& scheduler, GenerationRequest request) {
  auto recorder = std::static_pointer_cast<Recorder>(request.listener);
  EXPECT_TRUE(submit(scheduler, std::move(request)).has_value());
  recorder->wait();
  return recorder;
}

std::vector<int32_t> alone(const std::string& model, const std::vector<int32_t>& prompt, size_t most,
                           double temperature) {
  const auto engine = load(model, {.threads = 1});
  Scheduler scheduler(*engine, {.slots = 1, .cache_bytes = 0});
  return run(scheduler, request_of(prompt, most, std::make_shared<Recorder>(), temperature))->tokens;
}

std::vector<Checkpoint> copies(const std::vector<std::shared_ptr<const Checkpoint>>& conversation) {
  std::vector<Checkpoint> made;
  for (const auto& checkpoint : conversation) {
    Sequence sequence;
    sequence.restore(*checkpoint);
    made.push_back(sequence.checkpoint());
  }
  return made;
}

class Schedule : public ::testing::TestWithParam<const char*> {
 protected:
  std::string model = GetParam();
  std::vector<int32_t> tokens = recorded_tokens(model);
  std::vector<int32_t> part(size_t first, size_t count) const {
    return {tokens.begin() + static_cast<ptrdiff_t>(first), tokens.begin() + static_cast<ptrdiff_t>(first + count)};
  }
};

TEST_P(Schedule, CompanionsDoNotChangeAnAnswer) {
  std::vector<std::vector<int32_t>> prompts;
  for (size_t i = 0; i < 6; ++i) prompts.push_back(part(3 * i, 20 + 17 * i));
  const auto engine = load(model, {.threads = 2});
  for (const double temperature : {0.0, 1.2}) {
    Scheduler scheduler(*engine, {.slots = 3, .cache_bytes = 0});
    std::vector<std::shared_ptr<Recorder>> recorders;
    for (const auto& prompt : prompts) {
      recorders.push_back(std::make_shared<Recorder>());
      ASSERT_TRUE(submit(scheduler, request_of(prompt, 12, recorders.back(), temperature)));
    }
    for (size_t i = 0; i < prompts.size(); ++i) {
      recorders[i]->wait();
      EXPECT_EQ(recorders[i]->finish, Finish::length);
      EXPECT_EQ(recorders[i]->tokens, alone(model, prompts[i], 12, temperature)) << i;
    }
  }
}

TEST_P(Schedule, AResumedConversationHasTheBitsOfAColdRead) {
  const auto engine = load(model, {.threads = 2});
  Scheduler scheduler(*engine, {.slots = 2, .cache_bytes = size_t{64} << 20});
  auto request = request_of(part(0, 70), 6, std::make_shared<Recorder>());
  request.checkpoints = {33, 66};
  const auto first = run(scheduler, std::move(request));
  EXPECT_EQ(first->usage.cached_tokens, 0u);
  // The next turn: the first prompt, its answer, and more.
  std::vector<int32_t> next = part(0, 70);
  next.insert(next.end(), first->tokens.begin(), first->tokens.end());
  const auto more = part(100, 20);
  next.insert(next.end(), more.begin(), more.end());
  auto second_request = request_of(next, 8, std::make_shared<Recorder>());
  second_request.logprobs = true;
  second_request.top_logprobs = 4;
  const auto second = run(scheduler, std::move(second_request));
  EXPECT_GE(second->usage.cached_tokens, 70u);
  // The same without a cache, log-probabilities to the last bit.
  auto cold_request = request_of(next, 8, std::make_shared<Recorder>());
  cold_request.logprobs = true;
  cold_request.top_logprobs = 4;
  cold_request.cache = false;
  const auto cold = run(scheduler, std::move(cold_request));
  EXPECT_EQ(cold->usage.cached_tokens, 0u);
  ASSERT_EQ(second->choices.size(), cold->choices.size());
  for (size_t i = 0; i < cold->choices.size(); ++i) {
    EXPECT_EQ(second->choices[i].token, cold->choices[i].token);
    EXPECT_EQ(second->choices[i].logprob, cold->choices[i].logprob);
    EXPECT_EQ(second->choices[i].top, cold->choices[i].top);
  }
  // Another branch from inside of the first prompt.
  std::vector<int32_t> branch = part(0, 68);
  branch.insert(branch.end(), more.begin(), more.end());
  const auto third = run(scheduler, request_of(branch, 8, std::make_shared<Recorder>()));
  EXPECT_GE(third->usage.cached_tokens, 66u);
  EXPECT_EQ(third->tokens, alone(model, branch, 8, 0));
}

TEST_P(Schedule, AlikePromptsAreReadOnce) {
  const auto engine = load(model, {.threads = 2});
  Scheduler scheduler(*engine, {.slots = 4, .cache_bytes = size_t{64} << 20});
  const auto prompt = part(0, 150);
  std::vector<std::shared_ptr<Recorder>> recorders;
  for (size_t i = 0; i < 4; ++i) {
    recorders.push_back(std::make_shared<Recorder>());
    auto request = request_of(prompt, 5, recorders.back());
    request.checkpoints = {140};
    ASSERT_TRUE(submit(scheduler, std::move(request)));
  }
  for (const auto& recorder : recorders) {
    recorder->wait();
    EXPECT_EQ(recorder->tokens, recorders[0]->tokens);
  }
  EXPECT_LE(scheduler.status().totals.prompt_tokens_read, 150u + 3 * 10);
}

TEST_P(Schedule, APromptIsJudgedAsItWasWritten) {
  const auto engine = load(model, {.threads = 1});
  Scheduler scheduler(*engine, {.slots = 2});
  auto prompt = part(0, 90);
  auto request = request_of(prompt, 8, std::make_shared<Recorder>(), 0.9);
  request.logprobs = true;
  request.top_logprobs = 3;
  const auto written = run(scheduler, std::move(request));
  prompt.insert(prompt.end(), written->tokens.begin(), written->tokens.end());
  auto companion = std::make_shared<Recorder>();
  ASSERT_TRUE(submit(scheduler, request_of(part(5, 60), 20, companion)));
  request = request_of(prompt, 1, std::make_shared<Recorder>());
  request.prompt_logprobs = true;
  request.top_logprobs = 3;
  const auto judged = run(scheduler, std::move(request))->judged;
  companion->wait();
  ASSERT_EQ(judged.size(), prompt.size() - 1);
  for (size_t i = 0; i < 8; ++i) {
    const Choice& then = written->choices[i];
    const Choice& now = judged[judged.size() - 8 + i];
    EXPECT_EQ(now.token, then.token);
    EXPECT_EQ(now.logprob, then.logprob);
    EXPECT_EQ(now.top, then.top);
  }
}

TEST_P(Schedule, ASlotsConversationCanBeTakenToAnotherScheduler) {
  const auto prompt = part(0, 150);
  const auto engine = load(model, {.threads = 1}), other = load(model, {.threads = 1});
  Scheduler first(*engine, {.slots = 2}), second(*other, {.slots = 2});
  EXPECT_FALSE(first.conversation(0));
  const auto answer = run(first, request_of(prompt, 6, std::make_shared<Recorder>()))->tokens;
  EXPECT_FALSE(first.conversation(1));
  const auto here = take(first.conversation(0));
  const std::vector<int32_t> kept = here.back()->tokens;
  EXPECT_EQ(kept.size(), 155u);  // the last token has not been read
  std::vector<Checkpoint> moved = copies(here);
  for (Checkpoint& checkpoint : moved) {
    for (memory::KvPage& page : checkpoint.pages) {  // pages belong to their engine
      const memory::KvPage copy = other->new_page();
      std::copy_n(page.get(), other->page_bytes(), copy.get());
      page = copy;
    }
  }
  ASSERT_TRUE(second.adopt(1, std::move(moved)));
  EXPECT_EQ(take(second.conversation(1)).back()->tokens, kept);
  auto next = prompt;
  next.insert(next.end(), answer.begin(), answer.end());
  const auto there = run(second, request_of(next, 6, std::make_shared<Recorder>()));
  EXPECT_EQ(there->usage.cached_tokens, 155u);
  EXPECT_EQ(there->tokens, alone(model, next, 6, 0));
}

TEST_P(Schedule, AForgottenConversationIsReadAgain) {
  const auto engine = load(model, {.threads = 1});
  Scheduler scheduler(*engine, {.slots = 1});
  const auto prompt = part(0, 150);
  run(scheduler, request_of(prompt, 1, std::make_shared<Recorder>()));
  EXPECT_EQ(scheduler.forget(0), 150u);
  EXPECT_EQ(scheduler.forget(0), 0u);
  EXPECT_FALSE(scheduler.conversation(0));
  EXPECT_EQ(run(scheduler, request_of(prompt, 1, std::make_shared<Recorder>()))->usage.cached_tokens, 0u);
}

TEST_P(Schedule, AConversationThatDoesNotFitIsNotAdopted) {
  const auto engine = load(model, {.threads = 1});
  Scheduler scheduler(*engine, {.slots = 1}), none(*engine, {.slots = 1, .cache_bytes = 0});
  run(scheduler, request_of(part(0, 100), 1, std::make_shared<Recorder>()));
  EXPECT_FALSE(none.adopt(0, copies(take(scheduler.conversation(0)))));
  EXPECT_FALSE(none.conversation(0));
}

INSTANTIATE_TEST_SUITE_P(Models, Schedule, ::testing::Values("llama", "qwen35moe", "qwen4exp", "lfm2"));

class LlamaSchedule : public ::testing::Test {
 protected:
  std::unique_ptr<Engine> engine = load("llama", {.threads = 1});
  std::vector<int32_t> tokens = recorded_tokens("llama");
};

TEST_F(LlamaSchedule, AListenerEndsOrLeadsTheAnswer) {
  Scheduler scheduler(*engine, {});
  auto stopping = std::make_shared<Recorder>();
  stopping->on_token = [](size_t count) { return Continuation{count == 5, {}}; };
  EXPECT_EQ(run(scheduler, request_of(tokens, 50, stopping))->finish, Finish::stop);
  EXPECT_EQ(stopping->tokens.size(), 5u);
  auto leading = std::make_shared<Recorder>();
  leading->on_token = [](size_t count) {
    return Continuation{false, count == 2 ? std::vector<int32_t>{11, 12, 13} : std::vector<int32_t>{}};
  };
  run(scheduler, request_of(tokens, 8, leading));
  ASSERT_EQ(leading->tokens.size(), 8u);
  EXPECT_EQ((std::vector<int32_t>(leading->tokens.begin() + 2, leading->tokens.begin() + 5)),
            (std::vector<int32_t>{11, 12, 13}));
}

TEST_F(LlamaSchedule, TheTotalsAddUp) {
  Scheduler scheduler(*engine, {});
  SchedulerTotals sum;
  for (const size_t most : {size_t{5}, size_t{1}, size_t{9}}) {
    const Usage usage = run(scheduler, request_of(tokens, most, std::make_shared<Recorder>()))->usage;
    sum.prompt_tokens_cached += usage.cached_tokens;
    sum.prompt_tokens_read += usage.prompt_tokens - usage.cached_tokens;
    sum.completion_tokens += usage.completion_tokens;
  }
  scheduler.between_steps([](ConversationCache&) {});  // the last step has been counted
  const SchedulerTotals totals = scheduler.status().totals;
  EXPECT_EQ(totals.requests, 3u);
  EXPECT_EQ(totals.prompt_tokens_read, sum.prompt_tokens_read);
  EXPECT_EQ(totals.prompt_tokens_cached, sum.prompt_tokens_cached);
  EXPECT_GT(totals.prompt_tokens_cached, tokens.size());
  EXPECT_EQ(totals.completion_tokens, 15u);
}

TEST_F(LlamaSchedule, NothingIsGeneratedWhereNothingIsAskedFor) {
  Scheduler scheduler(*engine, {});
  const auto recorder = run(scheduler, request_of(tokens, 0, std::make_shared<Recorder>()));
  EXPECT_EQ(recorder->finish, Finish::length);
  EXPECT_TRUE(recorder->tokens.empty());
  EXPECT_EQ(recorder->usage.prompt_tokens, tokens.size());
}

TEST_F(LlamaSchedule, AFullContextEndsTheAnswer) {
  const auto small = load("llama", {.threads = 1, .context = 100});
  Scheduler scheduler(*small, {});
  const auto recorder =
      run(scheduler, request_of({tokens.begin(), tokens.begin() + 90}, SIZE_MAX, std::make_shared<Recorder>()));
  EXPECT_EQ(recorder->finish, Finish::context);
  EXPECT_EQ(recorder->tokens.size(), 11u);
}

TEST_F(LlamaSchedule, CancellingEndsWaitingAndRunningRequests) {
  Scheduler scheduler(*engine, {.slots = 1, .queue_limit = 2});
  auto running = std::make_shared<Recorder>(), waiting = std::make_shared<Recorder>();
  std::promise<void> begun;
  running->on_token = [&](size_t count) {
    if (count == 1) begun.set_value();
    return Continuation{};
  };
  const auto first = submit(scheduler, request_of(tokens, SIZE_MAX, running));
  const auto second = submit(scheduler, request_of(tokens, 5, waiting));
  begun.get_future().wait();
  scheduler.cancel(*second);
  scheduler.cancel(12345);
  waiting->wait();
  scheduler.cancel(*first);
  running->wait();
  EXPECT_EQ(running->finish, Finish::cancelled);
  EXPECT_EQ(waiting->finish, Finish::cancelled);
  EXPECT_TRUE(waiting->tokens.empty());
}

TEST_F(LlamaSchedule, TheQueueHasABound) {
  Scheduler scheduler(*engine, {.slots = 1, .queue_limit = 1});
  auto running = std::make_shared<Recorder>(), waiting = std::make_shared<Recorder>();
  const auto first = submit(scheduler, request_of(tokens, SIZE_MAX, running));
  ASSERT_TRUE(first);
  std::optional<uint64_t> second = submit(scheduler, request_of(tokens, 2, waiting));
  ASSERT_TRUE(second);
  // The first may still be on its way from the queue to its slot.
  auto third = std::make_shared<Recorder>(), fourth = std::make_shared<Recorder>();
  const bool one = submit(scheduler, request_of(tokens, 2, third)).has_value();
  const bool two = submit(scheduler, request_of(tokens, 2, fourth)).has_value();
  EXPECT_FALSE(one && two);
  scheduler.cancel(*first);
  waiting->wait();
  EXPECT_EQ(waiting->finish, Finish::length);
}

TEST_F(LlamaSchedule, ClientsTakeTurns) {
  Scheduler scheduler(*engine, {.slots = 2, .queue_limit = 20});
  std::mutex mutex;
  std::vector<std::string> order;
  std::vector<std::shared_ptr<Recorder>> recorders;
  const auto submit_for = [&](const std::string& client) {
    auto recorder = std::make_shared<Recorder>();
    recorder->on_token = [&, client](size_t count) {
      const std::lock_guard lock(mutex);
      if (count == 1) order.push_back(client);
      return Continuation{};
    };
    auto request = request_of(tokens, 30, recorder);
    request.client = client;
    ASSERT_TRUE(submit(scheduler, std::move(request)));
    recorders.push_back(recorder);
  };
  for (int i = 0; i < 6; ++i) submit_for("greedy");
  submit_for("modest");
  for (const auto& recorder : recorders) recorder->wait();
  EXPECT_LE(std::find(order.begin(), order.end(), "modest") - order.begin(), 3);
}

TEST_F(LlamaSchedule, DrainingLetsAnswersEndAndRefusesNewOnes) {
  Scheduler scheduler(*engine, {.slots = 2});
  auto brief = std::make_shared<Recorder>(), endless = std::make_shared<Recorder>();
  endless->on_token = [](size_t) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Continuation{};
  };
  ASSERT_TRUE(submit(scheduler, request_of(tokens, 3, brief)));
  const auto id = submit(scheduler, request_of(tokens, SIZE_MAX, endless));
  ASSERT_TRUE(id);
  brief->wait();
  scheduler.drain(0.05);
  endless->wait();
  EXPECT_EQ(endless->finish, Finish::cancelled);
  EXPECT_FALSE(submit(scheduler, request_of(tokens, 3, std::make_shared<Recorder>())));
}

/// Lets only even tokens through, and four of them.
class EvenTokens : public TokenFilter {
 public:
  explicit EvenTokens(size_t vocabulary) : bits_((vocabulary + 63) / 64, 0x5555555555555555ull) {}
  std::span<const uint64_t> allowed() override { return bits_; }
  void accept(int32_t) override { ++count_; }
  bool ended() override { return count_ == 4; }

 private:
  std::vector<uint64_t> bits_;
  size_t count_ = 0;
};

TEST_F(LlamaSchedule, AFilterDecidesWhatMayComeAndWhenItEnds) {
  Scheduler scheduler(*engine, {});
  for (const double temperature : {0.0, 2.0}) {
    auto request = request_of(tokens, 50, std::make_shared<Recorder>(), temperature);
    request.filter = std::make_unique<EvenTokens>(engine->info().vocabulary);
    const auto recorder = run(scheduler, std::move(request));
    EXPECT_EQ(recorder->finish, Finish::stop);
    ASSERT_EQ(recorder->tokens.size(), 4u);
    for (const int32_t token : recorder->tokens) EXPECT_EQ(token % 2, 0);
  }
}

}  // namespace
}  // namespace terrace::engine
