#include "serve/service.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <random>

namespace terrace::serve {

int64_t unix_seconds() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string make_id(std::string_view prefix) {
  static std::mutex mutex;
  static std::mt19937_64 random{std::random_device{}()};
  constexpr std::string_view digits = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string id(prefix);
  const std::lock_guard lock(mutex);
  for (int i = 0; i < 24; ++i) id += digits[random() % digits.size()];
  return id;
}

Result<std::unique_ptr<Service>> Service::create(ServiceOptions options) {
  std::unique_ptr<Service> service(new Service(std::move(options)));
  service->name_ = service->options_.alias.empty() ? std::filesystem::path(service->options_.model_path).stem().string()
                                                   : service->options_.alias;
  service->created_ = unix_seconds();
  if (const std::string& folder = service->options_.slot_folder; !folder.empty()) {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return fail("{}: cannot be made: {}", folder, error.message());
  }
  TERRACE_TRY(service->keeper_, ModelKeeper::create(service->options_));
  return service;
}

std::vector<int32_t> Service::tokenize(std::string_view text) const {
  return model().tokenizer().encode(text, {.parse_special = true});
}

/// How many tokens may be generated after a prompt.
std::optional<Refusal> Service::check_length(size_t prompt, std::optional<size_t> asked, size_t& most) const {
  const size_t context = model().engine->context();
  if (prompt == 0) return Refusal{400, "the prompt is empty"};
  if (prompt > context) {
    return Refusal{400,
                   fmt::format("the prompt has {} tokens; this model's context holds {}. Shorten the prompt, or start "
                               "the server with a larger --ctx",
                               prompt, context),
                   "", "context_length_exceeded"};
  }
  const size_t room = context - prompt + 1;  // the last token needs no place
  most = std::min(asked.value_or(room), room);
  if (!asked || *asked <= room || options_.fit_max_tokens) return std::nullopt;
  return Refusal{400,
                 fmt::format("the prompt has {} tokens and {} more were asked for; this model's context holds {}. Ask "
                             "for at most {}, or start the server with --fit-max-tokens",
                             prompt, *asked, context, room),
                 "", "context_length_exceeded"};
}

std::optional<Refusal> Service::submit(Submission submission, const std::shared_ptr<AnswerSink>& sink,
                                       const ResponderPtr& responder) {
  ServedModel& model = this->model();
  const Lease lease = keeper_->lease();
  if (auto valid = engine::validate(submission.sampler, model.engine->info().vocabulary); !valid)
    return Refusal{400, valid.error().message};
  std::vector<engine::GenerationRequest> requests;
  for (const auto& prompt : submission.prompts) {
    size_t most = 0;
    if (auto refusal = check_length(prompt.size(), submission.max_tokens, most)) return refusal;
    for (size_t choice = 0; choice < submission.choices; ++choice) {
      engine::GenerationRequest request;
      request.prompt = prompt;
      request.sampler = submission.sampler;
      // Choices differ, and a given seed still gives the same ones.
      if (request.sampler.seed != engine::kRandomSeed) request.sampler.seed += choice;
      request.max_tokens = most;
      request.ignore_end = submission.ignore_end;
      request.cache = submission.cache;
      request.checkpoints = submission.checkpoints;
      request.client = submission.client;
      request.top_logprobs = submission.top_logprobs;
      request.prompt_logprobs = submission.prompt_logprobs;
      if (submission.filter) request.filter = submission.filter();
      AnswerOptions answer = submission.answer();
      request.logprobs = answer.logprobs;
      request.listener = std::make_shared<Answer>(model.tokenizer(), std::move(answer), requests.size(),
                                                  metrics_.observed(sink), lease);
      requests.push_back(std::move(request));
    }
  }
  const auto ids = model.scheduler->submit(std::move(requests));
  if (ids.empty())
    return Refusal{503, "the server is busy: all slots are taken and the queue is full; try again", "", "overloaded"};
  responder->on_close([&keeper = *keeper_, load = keeper_->load_number(), ids] { keeper.cancel(load, ids); });
  return std::nullopt;
}

}  // namespace terrace::serve
