// What all endpoints share: the model with its chat format, the scheduler, and how requests come to it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "serve/answer.h"
#include "serve/http/message.h"
#include "serve/metrics.h"
#include "serve/model_keeper.h"

namespace terrace::serve {

/// One request's choices on their way to the scheduler.
struct Submission {
  std::vector<std::vector<int32_t>> prompts;  ///< usually one
  engine::SamplerOptions sampler;
  std::optional<size_t> max_tokens;
  bool ignore_end = false;
  bool cache = true;
  size_t top_logprobs = 0;
  bool prompt_logprobs = false;
  size_t choices = 1;  ///< of each prompt; choice c of prompt p is number p * choices + c
  std::vector<size_t> checkpoints;
  std::string client;
  std::function<std::unique_ptr<engine::TokenFilter>()> filter;  ///< makes one per choice; may be empty
  std::function<AnswerOptions()> answer;                         ///< the same
};

class Service {
 public:
  static Result<std::unique_ptr<Service>> create(ServiceOptions options);

  const ServiceOptions& options() const { return options_; }
  const std::string& name() const { return name_; }
  int64_t created() const { return created_; }  ///< seconds since 1970
  ModelKeeper& keeper() const { return *keeper_; }
  /// For those who hold a lease.
  ServedModel& model() const { return keeper_->model(); }
  Metrics& metrics() { return metrics_; }

  /// Token ids of a text as prompts are read: control tokens written in it are parsed. Needs a lease.
  std::vector<int32_t> tokenize(std::string_view text) const;
  /// Checks the lengths and hands the choices over; the client's going cancels them. Needs a lease.
  std::optional<Refusal> submit(Submission submission, const std::shared_ptr<AnswerSink>& sink,
                                const ResponderPtr& responder);
  /// Running answers go on for `seconds` at most; new requests are refused.
  void drain(double seconds) { keeper_->drain(seconds); }

 private:
  explicit Service(ServiceOptions options) : options_(std::move(options)) {}
  std::optional<Refusal> check_length(size_t prompt, std::optional<size_t> asked, size_t& most) const;

  ServiceOptions options_;
  std::string name_;
  int64_t created_ = 0;
  Metrics metrics_;
  std::unique_ptr<ModelKeeper> keeper_;
};

/// Now, as seconds since 1970.
int64_t unix_seconds();

/// A random id such as chatcmpl-9f3k...
std::string make_id(std::string_view prefix);

}  // namespace terrace::serve
