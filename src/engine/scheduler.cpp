#include "engine/scheduler.h"

#include <algorithm>
#include <chrono>
#include <future>

namespace terrace::engine {
namespace {

using Clock = std::chrono::steady_clock;

/// Rows of a prompt whose logits are made together: they take memory.
constexpr size_t kJudgedRows = 32;

double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

}  // namespace

struct Scheduler::Job {
  uint64_t id = 0;
  size_t slot = 0;
  GenerationRequest request;
  Sequence sequence;
  std::optional<Sampler> sampler;
  Usage usage;
  std::vector<Choice> judged;   // tokens of the prompt
  std::vector<int32_t> answer;  // the last one is not in the sequence yet
  std::deque<int32_t> forced;
  size_t next_checkpoint = 0;  // index in the request's
  bool over = false;
  Clock::time_point begun, read;

  bool takes_cached() const { return request.cache && !request.prompt_logprobs; }
  bool reading() const { return sequence.size() < request.prompt.size(); }
  std::span<const int32_t> unread() const { return std::span(request.prompt).subspan(sequence.size()); }
};

Scheduler::Scheduler(Engine& engine, const SchedulerOptions& options, const SchedulerTotals& before)
    : engine_(engine),
      options_(options),
      cache_(options.cache_bytes, engine.page_bytes(), engine.info().state_bytes > 0),
      conversations_(options.slots) {
  status_.totals = before;
  publish();
  thread_ = std::thread([this] { run(); });
}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  thread_.join();
}

std::vector<uint64_t> Scheduler::submit(std::vector<GenerationRequest> requests) {
  std::vector<JobPtr> jobs;
  for (GenerationRequest& request : requests) {
    jobs.push_back(std::make_unique<Job>());
    jobs.back()->request = std::move(request);
  }
  const std::lock_guard lock(mutex_);
  if (draining_ || stopping_) return {};
  // Free slots are no queue: with a limit of 0, a request is taken when it can begin at once.
  const size_t free_slots = options_.slots - std::min(active_count_, options_.slots);
  if (waiting_.size() + jobs.size() > std::max(options_.queue_limit + free_slots, waiting_.empty() ? jobs.size() : 0))
    return {};
  std::vector<uint64_t> ids;
  for (JobPtr& job : jobs) {
    job->id = next_request_++;
    ids.push_back(job->id);
    waiting_.push_back(std::move(job));
  }
  status_.totals.requests += ids.size();
  wake_.notify_all();
  return ids;
}

void Scheduler::cancel(uint64_t request) {
  const std::lock_guard lock(mutex_);
  cancelled_.push_back(request);
  wake_.notify_all();
}

void Scheduler::drain(double seconds) {
  std::unique_lock lock(mutex_);
  draining_ = true;
  for (const JobPtr& job : waiting_) cancelled_.push_back(job->id);
  wake_.notify_all();
  const auto over = [this] { return waiting_.empty() && active_count_ == 0; };
  if (idle_.wait_for(lock, std::chrono::duration<double>(seconds), over)) return;
  cancel_all_ = true;
  wake_.notify_all();
  idle_.wait(lock, over);
}

SchedulerStatus Scheduler::status() const {
  const std::lock_guard lock(mutex_);
  SchedulerStatus status = status_;
  status.waiting = waiting_.size();
  return status;
}

void Scheduler::between_steps(const std::function<void(ConversationCache&)>& work) {
  std::promise<void> done;
  {
    const std::lock_guard lock(mutex_);
    errands_.push_back([&] {
      work(cache_);
      done.set_value();
    });
    wake_.notify_all();
  }
  done.get_future().wait();
}

Result<std::vector<std::shared_ptr<const Checkpoint>>> Scheduler::conversation(size_t slot) {
  std::vector<std::shared_ptr<const Checkpoint>> found;
  between_steps([&](ConversationCache& cache) {
    const auto running =
        std::find_if(active_.begin(), active_.end(), [&](const JobPtr& job) { return job->slot == slot; });
    const bool runs = running != active_.end();
    const std::vector<int32_t> tokens = runs ? (*running)->sequence.tokens() : conversations_[slot];
    found = cache.beginnings(tokens);
    if (tokens.empty() || (!found.empty() && found.back()->tokens.size() == tokens.size())) return;
    if (runs) return found.push_back(std::make_shared<const Checkpoint>((*running)->sequence.checkpoint()));
    const auto longer = cache.find(tokens);  // may serve in its place
    if (longer.length < tokens.size()) return found.clear();
    Sequence sequence;
    sequence.restore(*longer.checkpoint, longer.length);
    found.push_back(std::make_shared<const Checkpoint>(sequence.checkpoint()));
  });
  if (found.empty()) return fail("slot {} has no conversation, or it is not in the cache any more", slot);
  return found;
}

Status Scheduler::adopt(size_t slot, std::vector<Checkpoint> conversation) {
  bool kept = false;
  between_steps([&](ConversationCache& cache) {
    const std::vector<int32_t> tokens = conversation.back().tokens;
    for (Checkpoint& checkpoint : conversation) kept = cache.insert(std::move(checkpoint));
    if (kept) conversations_[slot] = tokens;
  });
  if (!kept) return fail("the conversation is larger than the cache's limit of {} bytes", options_.cache_bytes);
  return Done{};
}

size_t Scheduler::forget(size_t slot) {
  size_t length = 0;
  between_steps([&](ConversationCache& cache) {
    const auto tokens = std::exchange(conversations_[slot], {});
    length = cache.erase(tokens) ? tokens.size() : 0;
  });
  return length;
}

void Scheduler::run() {
  while (wait_for_work()) {
    take_cancelled();
    admit();
    step();
    remove_finished();
    publish();
  }
  for (const JobPtr& job : active_) finish(*job, Finish::cancelled);
  for (const JobPtr& job : waiting_) finish(*job, Finish::cancelled);
}

/// False when the thread is to end.
bool Scheduler::wait_for_work() {
  std::unique_lock lock(mutex_);
  wake_.wait(lock,
             [this] { return stopping_ || !active_.empty() || !waiting_.empty() || !errands_.empty() || cancel_all_; });
  const auto errands = std::exchange(errands_, {});
  if (!errands.empty()) {
    lock.unlock();
    for (const auto& errand : errands) errand();
    lock.lock();
  }
  return !stopping_;
}

void Scheduler::take_cancelled() {
  std::vector<uint64_t> cancelled;
  std::vector<JobPtr> never_begun;
  {
    const std::lock_guard lock(mutex_);
    cancelled = std::exchange(cancelled_, {});
    if (cancel_all_) {
      for (const JobPtr& job : active_) cancelled.push_back(job->id);
      cancel_all_ = false;
    }
    const auto is_cancelled = [&](const JobPtr& job) {
      return std::find(cancelled.begin(), cancelled.end(), job->id) != cancelled.end();
    };
    for (auto job = waiting_.begin(); job != waiting_.end();) {
      if (!is_cancelled(*job)) {
        ++job;
        continue;
      }
      never_begun.push_back(std::move(*job));
      job = waiting_.erase(job);
    }
  }
  for (const JobPtr& job : never_begun) job->request.listener->finished(Finish::cancelled, job->usage);
  for (const JobPtr& job : active_) {
    if (std::find(cancelled.begin(), cancelled.end(), job->id) != cancelled.end()) finish(*job, Finish::cancelled);
  }
  remove_finished();
}

/// Whether another request is just reading much of what this one begins with.
bool Scheduler::worth_waiting(const Job& job) const {
  if (!job.takes_cached()) return false;
  const std::span<const int32_t> needed = std::span(job.request.prompt).first(job.request.prompt.size() - 1);
  const size_t have = cache_.length_of(needed);
  return std::any_of(active_.begin(), active_.end(), [&](const JobPtr& other) {
    if (!other->reading() || !other->request.cache) return false;
    size_t common = common_length(needed, other->request.prompt);
    if (engine_.info().state_bytes > 0) {  // of use are only its checkpoints
      const auto& kept = other->request.checkpoints;
      const auto after = std::upper_bound(kept.begin(), kept.end(), common);
      common = after == kept.begin() ? 0 : *std::prev(after);
    }
    return common >= have + compute::kAttentionBlock && common > other->sequence.size();
  });
}

/// Waiting requests take the free slots, those of the clients with the fewest slots first.
void Scheduler::admit() {
  while (active_.size() < options_.slots) {
    JobPtr next;
    {
      const std::lock_guard lock(mutex_);
      size_t fewest = SIZE_MAX;
      auto chosen = waiting_.end();
      for (auto job = waiting_.begin(); job != waiting_.end(); ++job) {
        const auto has = static_cast<size_t>(std::count_if(active_.begin(), active_.end(), [&](const JobPtr& a) {
          return a->request.client == (*job)->request.client;
        }));
        if (has >= fewest || worth_waiting(**job)) continue;
        fewest = has;
        chosen = job;
      }
      if (chosen == waiting_.end()) return;
      next = std::move(*chosen);
      waiting_.erase(chosen);
      active_count_ = active_.size() + 1;
    }
    begin(*next);
    active_.push_back(std::move(next));
  }
}

size_t Scheduler::free_slot() const {
  for (size_t slot = 0;; ++slot) {
    if (std::none_of(active_.begin(), active_.end(), [&](const JobPtr& job) { return job->slot == slot; })) return slot;
  }
}

void Scheduler::begin(Job& job) {
  GenerationRequest& request = job.request;
  job.slot = free_slot();
  job.begun = Clock::now();
  job.usage.prompt_tokens = request.prompt.size();
  if (job.takes_cached()) {
    // At least one token must be read for its logits.
    const auto found = cache_.find(std::span(request.prompt).first(request.prompt.size() - 1));
    if (found.checkpoint) job.sequence.restore(*found.checkpoint, found.length);
    job.usage.cached_tokens = found.length;
    const std::lock_guard lock(mutex_);
    status_.totals.prompt_tokens_cached += found.length;
  }
  const text::Tokenizer* tokenizer = engine_.tokenizer();
  job.sampler.emplace(request.sampler, engine_.info().vocabulary,
                      [tokenizer](int32_t id) { return std::string(tokenizer->token_bytes(id)); });
  for (const int32_t token : request.prompt) job.sampler->accept(token);
  const auto& kept = request.checkpoints;
  job.next_checkpoint =
      static_cast<size_t>(std::upper_bound(kept.begin(), kept.end(), job.sequence.size()) - kept.begin());
}

void Scheduler::plan_reading(std::vector<Advance>& advances, std::vector<Job*>& jobs) {
  std::vector<Job*> readers;
  for (const JobPtr& job : active_) {
    if (job->reading()) readers.push_back(job.get());
  }
  if (readers.empty()) return;
  size_t rows = pace_.rows(advances.size(), Engine::kPromptChunk);
  ++turn_;
  for (size_t i = 0; i < readers.size() && rows > 0; ++i) {
    Job& job = *readers[(turn_ + i) % readers.size()];
    auto chunk = job.unread().first(std::min(rows, job.unread().size()));
    const auto& kept = job.request.checkpoints;
    if (engine_.info().state_bytes > 0 && job.next_checkpoint < kept.size())
      chunk = chunk.first(std::min(chunk.size(), kept[job.next_checkpoint] - job.sequence.size()));
    auto logits = chunk.size() == job.unread().size() ? Advance::Logits::last : Advance::Logits::none;
    if (job.request.prompt_logprobs) {
      chunk = chunk.first(std::min(chunk.size(), kJudgedRows));
      logits = Advance::Logits::all;
    }
    rows -= chunk.size();
    advances.push_back({&job.sequence, chunk, logits});
    jobs.push_back(&job);
  }
}

void Scheduler::step() {
  std::vector<Advance> advances;
  std::vector<Job*> jobs;
  for (const JobPtr& job : active_) {
    if (job->reading()) continue;
    advances.push_back({&job->sequence, std::span(job->answer).last(1), Advance::Logits::last});
    jobs.push_back(job.get());
  }
  const size_t decodes = advances.size();
  plan_reading(advances, jobs);
  if (advances.empty()) return;
  size_t rows = 0;
  for (const Advance& advance : advances) rows += advance.tokens.size();
  const auto start = Clock::now();
  const auto logits = engine_.step(advances);
  const double seconds = seconds_between(start, Clock::now());
  if (!logits) {
    for (Job* job : jobs) {
      job->over = true;
      job->request.listener->failed(logits.error());
    }
    return;
  }
  pace_.measured(seconds, decodes, rows - decodes);
  size_t row = 0, written = 0;
  for (size_t i = 0; i < jobs.size(); ++i) {
    Job& job = *jobs[i];
    const size_t read = advances[i].tokens.size();
    if (advances[i].logits == Advance::Logits::all) {
      judge_prompt(job, job.sequence.size() - read, *logits, row);
      row += read;
    } else if (advances[i].logits == Advance::Logits::last) {
      ++row;
    }
    if (i >= decodes) after_reading(job);
    if (job.reading()) continue;
    const size_t before = job.answer.size();
    take_token(job, {logits->row(row - 1), logits->width});
    written += job.answer.size() - before;
  }
  count_step(seconds, written, rows - decodes);
}

/// The logits from `row` on are those of the prompt's tokens from the `first`, and judge what comes after each.
void Scheduler::judge_prompt(Job& job, size_t first, const compute::Rows& logits, size_t row) {
  const auto& prompt = job.request.prompt;
  for (size_t next = first + 1; next < prompt.size() && next <= job.sequence.size(); ++next, ++row) {
    Choice& choice = job.judged.emplace_back();
    choice.token = prompt[next];
    judge({logits.row(row), logits.width}, job.request.top_logprobs, choice);
  }
}

void Scheduler::count_step(double seconds, size_t written, size_t prompt_rows) {
  const std::lock_guard lock(mutex_);
  SchedulerTotals& totals = status_.totals;
  ++totals.steps;
  totals.prompt_tokens_read += prompt_rows;
  totals.completion_tokens += written;
  (prompt_rows > 0 ? totals.prompt_seconds : totals.decode_seconds) += seconds;
}

void Scheduler::after_reading(Job& job) {
  const auto& kept = job.request.checkpoints;
  const bool recurrent = engine_.info().state_bytes > 0;
  const bool reached = job.next_checkpoint < kept.size() && job.sequence.size() >= kept[job.next_checkpoint];
  while (job.next_checkpoint < kept.size() && job.sequence.size() >= kept[job.next_checkpoint]) ++job.next_checkpoint;
  if ((recurrent ? reached : !job.reading()) && cache_.insert(job.sequence.checkpoint()))
    job.usage.kept_tokens = job.sequence.size() - job.usage.cached_tokens;
  job.usage.prompt_seconds = seconds_between(job.begun, Clock::now());
  job.request.listener->reading(job.sequence.size(), job.usage);
  if (job.reading()) return;
  job.read = Clock::now();
  if (job.request.prompt_logprobs) job.request.listener->prompt(std::exchange(job.judged, {}));
}

void Scheduler::take_token(Job& job, std::span<const float> logits) {
  GenerationRequest& request = job.request;
  if (request.max_tokens == 0) return finish(job, Finish::length);
  if (request.filter && job.forced.empty() && request.filter->ended()) return finish(job, Finish::stop);
  Choice choice;
  if (job.forced.empty()) {
    choice.token =
        job.sampler->sample(logits, request.filter ? request.filter->allowed() : std::span<const uint64_t>());
  } else {
    choice.token = job.forced.front();
    job.forced.pop_front();
  }
  job.sampler->accept(choice.token);
  job.answer.push_back(choice.token);
  job.usage.completion_tokens = job.answer.size();
  if (!request.ignore_end && engine_.tokenizer()->is_end_of_generation(choice.token)) return finish(job, Finish::stop);
  if (request.filter) request.filter->accept(choice.token);
  if (request.logprobs) judge(logits, request.top_logprobs, choice);
  Continuation next = request.listener->token(choice);
  job.forced.insert(job.forced.end(), next.forced.begin(), next.forced.end());
  if (next.stop) return finish(job, Finish::stop);
  if (job.answer.size() >= request.max_tokens) return finish(job, Finish::length);
  if (job.sequence.size() + 1 > engine_.context()) return finish(job, Finish::context);
}

void Scheduler::finish(Job& job, Finish finish) {
  if (job.usage.completion_tokens > 0) job.usage.decode_seconds = seconds_between(job.read, Clock::now());
  if (job.request.cache && job.sequence.size() > job.usage.cached_tokens) cache_.insert(job.sequence.checkpoint());
  conversations_[job.slot] = job.request.cache ? job.sequence.tokens() : std::vector<int32_t>();
  job.over = true;
  job.request.listener->finished(finish, job.usage);
}

void Scheduler::remove_finished() {
  std::erase_if(active_, [](const JobPtr& job) { return job->over; });
  const std::lock_guard lock(mutex_);
  active_count_ = active_.size();
  if (active_.empty() && waiting_.empty()) idle_.notify_all();
}

void Scheduler::publish() {
  const std::lock_guard lock(mutex_);
  status_.cache_bytes = cache_.bytes();
  status_.cache_limit = cache_.limit();
  status_.cache_entries = cache_.size();
  status_.slots.assign(options_.slots, {});
  for (const JobPtr& job : active_) {
    const size_t prompt = job->request.prompt.size();
    status_.slots[job->slot] = {
        true, job->id, prompt, std::min(job->sequence.size(), prompt), job->usage.cached_tokens, job->answer.size()};
  }
}

}  // namespace terrace::engine
