// When the model is in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>

#include "model/runs.h"
#include "serve/model_keeper.h"

namespace terrace::serve {
namespace {

using ::testing::HasSubstr;
using namespace terrace::testing;  // NOLINT(google-build-using-namespace)
using std::chrono::milliseconds;

ServiceOptions options_of(bool lazy, double idle_seconds) {
  ServiceOptions options;
  options.model_path = fixture("llama/model-f32.gguf");
  options.engine.threads = 1;
  options.lazy_load = lazy;
  options.idle_unload_seconds = idle_seconds;
  return options;
}

Result<Lease> lease_of(ModelKeeper& keeper) {
  const auto promise = std::make_shared<std::promise<Result<Lease>>>();
  auto future = promise->get_future();
  EXPECT_TRUE(keeper.when_loaded([promise](const Result<Lease>& lease) { promise->set_value(lease); }));
  return future.get();
}

bool soon(const std::function<bool()>& true_now) {
  for (int i = 0; i < 2000 && !true_now(); ++i) std::this_thread::sleep_for(milliseconds(5));
  return true_now();
}

TEST(ModelKeeper, AModelIsLoadedWhenItIsNeeded) {
  const auto keeper = take(ModelKeeper::create(options_of(/*lazy=*/true, 0)));
  EXPECT_FALSE(keeper->loaded());
  EXPECT_EQ(keeper->card(), nullptr);
  EXPECT_EQ(keeper->lease(), nullptr);
  EXPECT_EQ(keeper->status().slots.size(), options_of(true, 0).scheduler.slots);
  const Lease lease = take(lease_of(*keeper));
  EXPECT_TRUE(keeper->loaded());
  EXPECT_EQ(keeper->card()->info.architecture, "llama");
  EXPECT_EQ(keeper->model().engine->info().architecture, "llama");
}

TEST(ModelKeeper, AModelThatNobodyUsesLeavesMemory) {
  const auto keeper = take(ModelKeeper::create(options_of(/*lazy=*/false, 0.05)));
  Lease lease = keeper->lease();
  const uint64_t load = keeper->load_number();
  ASSERT_NE(lease, nullptr);
  std::this_thread::sleep_for(milliseconds(200));
  EXPECT_TRUE(keeper->loaded());  // while somebody does
  lease.reset();
  EXPECT_TRUE(soon([&] { return !keeper->loaded(); }));
  EXPECT_EQ(keeper->card()->info.architecture, "llama");
  keeper->cancel(load, {1});  // of a model that has gone
  lease = take(lease_of(*keeper));
  EXPECT_EQ(keeper->load_number(), load + 1);
  keeper->cancel(load, {1});
}

TEST(ModelKeeper, TotalsOutliveTheModel) {
  const auto keeper = take(ModelKeeper::create(options_of(/*lazy=*/false, 0.05)));
  class Listener : public engine::GenerationListener {
   public:
    explicit Listener(Lease lease) : lease_(std::move(lease)) {}
    engine::Continuation token(const engine::Choice&) override { return {}; }
    void finished(engine::Finish, const engine::Usage&) override {}
    void failed(const Error&) override {}

   private:
    Lease lease_;
  };
  for (uint64_t round = 1; round <= 2; ++round) {
    Lease lease = take(lease_of(*keeper));
    std::vector<engine::GenerationRequest> requests(1);
    requests[0].prompt = {1, 2, 3};
    requests[0].max_tokens = 2;
    requests[0].ignore_end = true;
    requests[0].listener = std::make_shared<Listener>(lease);
    ASSERT_FALSE(keeper->model().scheduler->submit(std::move(requests)).empty());
    lease.reset();
    ASSERT_TRUE(soon([&] { return !keeper->loaded(); }));
    EXPECT_EQ(keeper->status().totals.requests, round);
    EXPECT_EQ(keeper->status().totals.prompt_tokens_read, 3 * round);
  }
}

TEST(ModelKeeper, ManyAskAtOnce) {
  const auto keeper = take(ModelKeeper::create(options_of(/*lazy=*/true, 0.02)));
  std::vector<std::thread> threads;
  std::atomic<int> served = 0;
  for (int t = 0; t < 6; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const Lease lease = take(lease_of(*keeper));
        served += keeper->model().engine->info().layers > 0 ? 1 : 0;
        std::this_thread::sleep_for(milliseconds(7 * (t % 3)));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(served, 60);
}

TEST(ModelKeeper, WhatCannotBeLoadedIsSaid) {
  ServiceOptions options = options_of(/*lazy=*/true, 0);
  options.model_path = "/nonexistent.gguf";
  EXPECT_THAT(message_of(ModelKeeper::create(options)), HasSubstr("/nonexistent.gguf"));
  TemporaryFolder folder;
  options.model_path = folder / "broken.gguf";
  write_file(options.model_path, "GGUF and nothing else");
  const auto keeper = take(ModelKeeper::create(options));
  EXPECT_THAT(message_of(lease_of(*keeper)), HasSubstr("broken.gguf"));
  EXPECT_FALSE(keeper->loaded());
}

TEST(ModelKeeper, NothingIsLoadedWhileTheServerStops) {
  const auto keeper = take(ModelKeeper::create(options_of(/*lazy=*/true, 0)));
  keeper->drain(0);
  EXPECT_FALSE(keeper->when_loaded([](const Result<Lease>&) {}));
}

}  // namespace
}  // namespace terrace::serve
