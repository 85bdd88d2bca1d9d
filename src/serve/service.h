// What all endpoints share: the model with its chat format, the scheduler, and how requests come to it.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/scheduler.h"
#include "serve/answer.h"
#include "serve/cache_files.h"
#include "serve/grammar_store.h"
#include "serve/http/message.h"
#include "serve/metrics.h"
#include "text/chat_format/messages.h"
#include "text/chat_template.h"
#include "text/grammar/token_vocabulary.h"

namespace terrace::serve {

struct ServiceOptions {
  std::string model_path;
  std::string version;  ///< of the program
  std::string alias;    ///< the model's name in the API; empty: the file's name
  engine::EngineOptions engine;
  engine::SchedulerOptions scheduler;
  engine::SamplerOptions sampler;  ///< where requests say nothing
  std::string chat_template;       ///< in place of the model's own
  bool fit_max_tokens = false;     ///< shorten answers that do not fit, instead of refusing
  bool drop_volatile_lines = true;
  std::string cache_folder;  ///< where conversations outlive the server; empty: nowhere
  size_t cache_disk_bytes = size_t{8} << 30;
  size_t checkpoint_every = 2048;  ///< tokens of a prompt between kept states of recurrent layers
};

/// A loaded model and everything that is made from it once.
struct ServedModel {
  std::unique_ptr<engine::Engine> engine;
  std::optional<text::ChatTemplate> chat_template;  ///< none: the model has none, and chats are refused
  std::string template_source;
  text::ChatFormat format;
  text::TemplateTraits traits;
  std::shared_ptr<const text::TokenVocabulary> vocabulary;  ///< for grammars
  std::unique_ptr<CacheFiles> cache_files;                  ///< may be null
  std::unique_ptr<engine::Scheduler> scheduler;             ///< last: it uses the others

  const text::Tokenizer& tokenizer() const { return *engine->tokenizer(); }
};

/// One request's choices on their way to the scheduler.
struct Submission {
  std::vector<std::vector<int32_t>> prompts;  ///< usually one
  engine::SamplerOptions sampler;
  std::optional<size_t> max_tokens;
  bool ignore_end = false;
  bool cache = true;
  size_t top_logprobs = 0;
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
  ServedModel& model() const { return *model_; }
  Metrics& metrics() { return metrics_; }
  GrammarStore& grammars() const { return grammars_; }

  /// Token ids of a text as prompts are read: control tokens written in it are parsed.
  std::vector<int32_t> tokenize(std::string_view text) const;
  /// Checks the lengths and hands the choices over; the client's going cancels them.
  std::optional<Refusal> submit(Submission submission, const std::shared_ptr<AnswerSink>& sink,
                                const ResponderPtr& responder);
  /// Running answers go on for `seconds` at most; new requests are refused.
  void drain(double seconds) { model_->scheduler->drain(seconds); }

 private:
  explicit Service(ServiceOptions options) : options_(std::move(options)) {}
  Status load();
  Status open_cache(ServedModel& model) const;
  std::optional<Refusal> check_length(size_t prompt, std::optional<size_t> asked, size_t& most) const;

  ServiceOptions options_;
  std::string name_;
  int64_t created_ = 0;
  Metrics metrics_;
  mutable GrammarStore grammars_;
  std::unique_ptr<ServedModel> model_;
};

/// Now, as seconds since 1970.
int64_t unix_seconds();

/// A random id such as chatcmpl-9f3k...
std::string make_id(std::string_view prefix);

}  // namespace terrace::serve
