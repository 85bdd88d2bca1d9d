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

/// A token of an answer, and what the model thought of it before any option changed that.
struct Choice {
  int32_t token = 0;
  float logprob = 0;                           ///< natural; with GenerationRequest::logprobs
  std::vector<std::pair<int32_t, float>> top;  ///< the likeliest tokens, best first
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
  size_t completion_tokens = 0;
  double prompt_seconds = 0;
  double decode_seconds = 0;
};

/// Takes an answer as it is made. Called from the scheduler's thread: what takes long belongs elsewhere.
class GenerationListener {
 public:
  virtual ~GenerationListener() = default;
  virtual void reading(size_t /*done*/, const Usage& /*usage*/) {}  ///< a chunk of the prompt has been read
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

/// Figures since the start, and of now.
struct SchedulerStatus {
  std::vector<SlotStatus> slots;
  size_t waiting = 0;
  size_t cache_bytes = 0, cache_limit = 0, cache_entries = 0;
  uint64_t requests = 0, steps = 0;
  uint64_t prompt_tokens_read = 0, prompt_tokens_cached = 0, completion_tokens = 0;
  double prompt_seconds = 0, decode_seconds = 0;  ///< of the steps that read prompts, and of the others
};

/// Owns the thread that runs the engine. All methods are thread-safe.
class Scheduler {
 public:
  Scheduler(Engine& engine, const SchedulerOptions& options);
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

 private:
  struct Job;
  using JobPtr = std::unique_ptr<Job>;

  void run();
  bool wait_for_work();
  void take_cancelled();
  void admit();
  void begin(Job& job);
  bool worth_waiting(const Job& job) const;
  void step();
  void count_step(double seconds, size_t decodes, size_t prompt_rows);
  void plan_reading(std::vector<Advance>& advances, std::vector<Job*>& jobs);
  void after_reading(Job& job);
  void take_token(Job& job, std::span<const float> logits);
  void finish(Job& job, Finish finish);
  void remove_finished();
  void publish();

  Engine& engine_;
  SchedulerOptions options_;
  ConversationCache cache_;
  std::vector<JobPtr> active_;
  StepPace pace_;
  size_t turn_ = 0;  // which of the prompts being read comes next

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
