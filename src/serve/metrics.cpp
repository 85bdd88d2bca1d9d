#include "serve/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <chrono>

#include "base/buffer.h"

namespace terrace::serve {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

prometheus::Histogram& histogram(prometheus::Registry& registry, const char* name, const char* help,
                                 std::vector<double> bounds) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add({}, std::move(bounds));
}
prometheus::Counter& counter(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add({});
}
prometheus::Family<prometheus::Gauge>& gauges(prometheus::Registry& registry, const char* name, const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}

}  // namespace

struct MetricFigures {
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& responses = prometheus::BuildCounter()
                                                           .Name("terrace_http_responses_total")
                                                           .Help("HTTP responses by endpoint and status")
                                                           .Register(registry);
  prometheus::Counter& prompt_tokens =
      counter(registry, "terrace_prompt_tokens_total", "Tokens of prompts, the cached ones included");
  prometheus::Counter& cached_tokens =
      counter(registry, "terrace_cached_tokens_total", "Tokens of prompts that came from the conversation cache");
  prometheus::Counter& completion_tokens = counter(registry, "terrace_completion_tokens_total", "Generated tokens");
  prometheus::Counter& answers = counter(registry, "terrace_answers_total", "Answers that ended, whatever ended them");
  prometheus::Counter& cancelled = counter(registry, "terrace_answers_cancelled_total", "Answers that clients gave up");
  prometheus::Histogram& first_token =
      histogram(registry, "terrace_time_to_first_token_seconds", "From a request's arrival to its first token",
                {0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300});
  prometheus::Histogram& between_tokens =
      histogram(registry, "terrace_inter_token_seconds", "Between two tokens of an answer",
                {0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.2, 0.5, 1, 5});
  prometheus::Family<prometheus::Gauge>& memory = gauges(registry, "terrace_memory_bytes", "Memory by purpose");
  prometheus::Gauge& cache = gauges(registry, "terrace_cache_bytes", "Held by the conversation cache").Add({});
  prometheus::Gauge& cache_limit = gauges(registry, "terrace_cache_limit_bytes", "What the cache may hold").Add({});
  prometheus::Gauge& waiting = gauges(registry, "terrace_requests_waiting", "Requests in the queue").Add({});
  prometheus::Gauge& running = gauges(registry, "terrace_requests_running", "Requests in slots").Add({});
};

namespace {

/// Measures a choice on its way.
class ObservedSink : public AnswerSink {
 public:
  ObservedSink(std::shared_ptr<AnswerSink> to, MetricFigures& figures) : to_(std::move(to)), figures_(figures) {}

  void reading(size_t choice, size_t done, const engine::Usage& usage) override { to_->reading(choice, done, usage); }
  void prompt(size_t choice, const std::vector<engine::Choice>& tokens) override { to_->prompt(choice, tokens); }
  void pieces(size_t choice, const std::vector<text::OutputDelta>& deltas,
              const std::vector<engine::Choice>& tokens) override {
    (begun_ ? figures_.between_tokens : figures_.first_token).Observe(seconds_since(last_));
    begun_ = true;
    last_ = Clock::now();
    to_->pieces(choice, deltas, tokens);
  }
  void finished(size_t choice, const Ending& ending, const engine::Usage& usage) override {
    figures_.prompt_tokens.Increment(static_cast<double>(usage.prompt_tokens));
    figures_.cached_tokens.Increment(static_cast<double>(usage.cached_tokens));
    figures_.completion_tokens.Increment(static_cast<double>(usage.completion_tokens));
    figures_.answers.Increment();
    if (ending.finish == engine::Finish::cancelled) figures_.cancelled.Increment();
    to_->finished(choice, ending, usage);
  }
  void failed(const Refusal& refusal) override { to_->failed(refusal); }

 private:
  std::shared_ptr<AnswerSink> to_;
  MetricFigures& figures_;
  Clock::time_point last_ = Clock::now();
  bool begun_ = false;
};

}  // namespace

Metrics::Metrics() : figures_(std::make_unique<MetricFigures>()) {}
Metrics::~Metrics() = default;

std::shared_ptr<AnswerSink> Metrics::observed(std::shared_ptr<AnswerSink> sink) {
  return std::make_shared<ObservedSink>(std::move(sink), *figures_);
}

void Metrics::count_response(const std::string& endpoint, int status) {
  figures_->responses.Add({{"endpoint", endpoint}, {"status", std::to_string(status)}}).Increment();
}

std::string Metrics::text(const engine::SchedulerStatus& status) {
  figures_->cache.Set(static_cast<double>(status.cache_bytes));
  figures_->cache_limit.Set(static_cast<double>(status.cache_limit));
  figures_->waiting.Set(static_cast<double>(status.waiting));
  double running = 0;
  for (const engine::SlotStatus& slot : status.slots) running += slot.busy ? 1 : 0;
  figures_->running.Set(running);
  for (const Purpose purpose : kPurposes) {
    figures_->memory.Add({{"purpose", std::string(purpose_name(purpose))}})
        .Set(static_cast<double>(bytes_held(purpose)));
  }
  return prometheus::TextSerializer().Serialize(figures_->registry.Collect());
}

}  // namespace terrace::serve
