// Continuous batching: requests of several clients share steps, each with the answer it would have had alone.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "engine/choice.h"
#include "engine/conversation_cache.h"
#include "engine/engine.h"
#include "engine/generator.h"
#include "engine/sampler.h"
#include "engine/step_pace.h"

namespace terrace::engine {

/// Which tokens may come next, as a grammar says. Used from the scheduler's thread only.
class TokenFilter {
 public:
  virtual ~TokenFilter() = default;
  /// A bit per token id; empty: all. At least one bit is set unless ended().
  virtual std::span<const uint64_t> allowed() = 0;
  virtual void accept(int32_t token) = 0;
  virtual bool ended() = 0;  ///< nothing can follow: the answer is complete
};

/// What goes on after a token.
struct Continuation {
  bool stop = false;
  std::vector<int32_t> forced;  ///< come next instead of sampled ones
};

/// What a request cost.
struct Usage {
  size_t prompt_tokens = 0;
  size_t cached_tokens = 0;  ///< of the prompt, those that were not read again
  size_t kept_tokens = 0;    ///< of the prompt, those that the cache has kept since
  size_t completion_tokens = 0;
  double prompt_seconds = 0;
  double decode_seconds = 0;
};

/// Takes an answer as it is made. Called from the scheduler's thread: what takes long belongs elsewhere.
class GenerationListener {
 public:
  virtual ~GenerationListener() = default;
  virtual void reading(size_t /*done*/, const Usage& /*usage*/) {}  ///< a chunk of the prompt has been read
  /// The prompt has been read: its tokens from the second on, with GenerationRequest::prompt_logprobs.
  virtual void prompt(const std::vector<Choice>& /*choices*/) {}
  virtual Continuation token(const Choice& choice) = 0;
  /// The last call unless failed() is: stop (an end-of-turn token, the listener, a filter), length, context, cancelled.
  virtual void finished(Finish finish, const Usage& usage) = 0;
  virtual void failed(const Error& error) = 0;
};

struct GenerationRequest {
  std::vector<int32_t> prompt;  ///< at least one token
  SamplerOptions sampler;
  size_t max_tokens = SIZE_MAX;
  bool ignore_end = false;
  bool logprobs = false;
  bool prompt_logprobs = false;  ///< all of the prompt is read, whatever the cache has
  size_t top_logprobs = 0;
  std::unique_ptr<TokenFilter> filter;  ///< may be null
  /// Positions of the prompt, ascending, whose state is worth keeping: where other conversations may branch off.
  std::vector<size_t> checkpoints;
  bool cache = true;   ///< begins with what the cache has
  std::string client;  ///< clients take turns
  std::shared_ptr<GenerationListener> listener;
};

struct SchedulerOptions {
  size_t slots = 4;         ///< sequences that advance together
  size_t queue_limit = 64;  ///< requests that wait
  size_t cache_bytes = size_t{1} << 30;
};

/// What a slot is doing.
struct SlotStatus {
  bool busy = false;
  uint64_t request = 0;
  size_t prompt_tokens = 0;
  size_t read_tokens = 0;  ///< of the prompt, the cached ones included
  size_t cached_tokens = 0;
  size_t completion_tokens = 0;
};

/// Figures since the start.
struct SchedulerTotals {
  uint64_t requests = 0, steps = 0;
  uint64_t prompt_tokens_read = 0, prompt_tokens_cached = 0, completion_tokens = 0;
  double prompt_seconds = 0, decode_seconds = 0;  ///< of the steps that read prompts, and of the others
};

struct SchedulerStatus {
  std::vector<SlotStatus> slots;
  size_t waiting = 0;
  size_t cache_bytes = 0, cache_limit = 0, cache_entries = 0;
  SchedulerTotals totals;
};

/// Owns the thread that runs the engine. All methods are thread-safe.
class Scheduler {
 public:
  /// `before`: what the totals begin with.
  Scheduler(Engine& engine, const SchedulerOptions& options, const SchedulerTotals& before = {});
  /// Cancels what is left.
  ~Scheduler();

  /// The numbers of the requests, all of which are taken, or none: nothing when the queue is full. They have been
  /// checked: tokens of the vocabulary, no more than the context has, valid sampler options.
  std::vector<uint64_t> submit(std::vector<GenerationRequest> requests);
  /// Its listener hears finished(cancelled) within a step; a request that is over is left alone.
  void cancel(uint64_t request);
  /// New requests are refused, waiting ones cancelled, running ones go on for `seconds` at most. Returns when all are
  /// over.
  void drain(double seconds);
  SchedulerStatus status() const;
  /// Runs `work` on the scheduler's thread between steps, with its cache, and waits for it.
  void between_steps(const std::function<void(ConversationCache&)>& work);

  /// The last conversation of a slot, that of its answer if one is being written: the checkpoints on its way, the
  /// shortest first, the last with all of its tokens. An error if that is not in the cache any more.
  Result<std::vector<std::shared_ptr<const Checkpoint>>> conversation(size_t slot);
  /// Makes a conversation that slot's last one, with which any slot can go on: an error if the cache cannot hold it.
  Status adopt(size_t slot, std::vector<Checkpoint> conversation);
  /// Forgets the slot's last conversation, and returns how many tokens it had; other conversations that begin alike
  /// stay.
  size_t forget(size_t slot);

 private:
  struct Job;
  using JobPtr = std::unique_ptr<Job>;

  void run();
  bool wait_for_work();
  void take_cancelled();
  void admit();
  void begin(Job& job);
  size_t free_slot() const;
  bool worth_waiting(const Job& job) const;
  void step();
  void count_step(double seconds, size_t written, size_t prompt_rows);
  void plan_reading(std::vector<Advance>& advances, std::vector<Job*>& jobs);
  void after_reading(Job& job);
  static void judge_prompt(Job& job, size_t first, const compute::Rows& logits, size_t row);
  void take_token(Job& job, std::span<const float> logits);
  void finish(Job& job, Finish finish);
  void remove_finished();
  void publish();

  Engine& engine_;
  SchedulerOptions options_;
  ConversationCache cache_;
  std::vector<JobPtr> active_;
  StepPace pace_;
  std::vector<std::vector<int32_t>> conversations_;  // the tokens of each slot's last one
  size_t turn_ = 0;                                  // which of the prompts being read comes next

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable wake_, idle_;
  std::deque<JobPtr> waiting_;
  std::vector<uint64_t> cancelled_;
  std::vector<std::function<void()>> errands_;
  SchedulerStatus status_;
  uint64_t next_request_ = 1;
  size_t active_count_ = 0;
  bool draining_ = false, stopping_ = false, cancel_all_ = false;

  std::thread thread_;  // the last member: it uses the others
};

}  // namespace terrace::engine
