// POST /v1/completions (https://platform.openai.com/docs/api-reference/completions).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "serve/constraints.h"
#include "serve/endpoints.h"
#include "serve/generation_fields.h"
#include "serve/openai_usage.h"
#include "text/unicode.h"

namespace terrace::serve {
namespace {

constexpr size_t kMaximumPrompts = 64;

struct CompletionRequest {
  GenerationFields generation;
  std::vector<std::vector<int32_t>> prompts;
  bool echo = false;
  std::optional<size_t> logprobs;

  bool judges_prompts() const { return echo && logprobs; }
};

/// Of judged tokens and the likeliest ones beside each, in a reply: they take memory.
constexpr size_t kMaximumJudged = 1'000'000;

std::optional<std::vector<int32_t>> tokens_of(const Json& list, const std::string& path, size_t vocabulary,
                                              std::optional<Refusal>& problem) {
  std::vector<int32_t> tokens;
  for (size_t i = 0; i < list.size(); ++i) {
    const bool fits = list[i].is_number_integer() && list[i].get<double>() >= 0 &&
                      list[i].get<double>() < static_cast<double>(vocabulary);
    if (!fits) {
      refuse(problem, fmt::format("{}[{}]", path, i),
             fmt::format("must be a token: a number from 0 to {}", vocabulary - 1));
      return std::nullopt;
    }
    tokens.push_back(list[i].get<int32_t>());
  }
  return tokens;
}

/// A text, a list of tokens, or a list of either.
void read_prompts(const Fields& fields, Service& service, CompletionRequest& request, std::optional<Refusal>& problem) {
  const size_t vocabulary = service.model().engine->info().vocabulary;
  const auto text = [&](const Json& prompt) {
    request.prompts.push_back(
        service.model().tokenizer().encode(prompt.get<std::string>(), {.parse_special = true, .add_special = true}));
  };
  const Json* prompt = fields.find("prompt");
  if (!prompt) return fields.refuse("prompt", "is missing");
  if (prompt->is_string()) return text(*prompt);
  if (!prompt->is_array() || prompt->empty())
    return fields.refuse("prompt", "must be a text, a list of tokens, or a list of texts or of lists of tokens");
  if (prompt->front().is_number()) {
    if (auto tokens = tokens_of(*prompt, "prompt", vocabulary, problem)) request.prompts.push_back(std::move(*tokens));
    return;
  }
  if (prompt->size() > kMaximumPrompts)
    return fields.refuse("prompt",
                         fmt::format("has {} entries; at most {} are possible", prompt->size(), kMaximumPrompts));
  for (size_t i = 0; i < prompt->size(); ++i) {
    const std::string path = fmt::format("prompt[{}]", i);
    if ((*prompt)[i].is_string()) {
      text((*prompt)[i]);
    } else if ((*prompt)[i].is_array()) {
      if (auto tokens = tokens_of((*prompt)[i], path, vocabulary, problem))
        request.prompts.push_back(std::move(*tokens));
    } else {
      refuse(problem, path, fmt::format("must be a text or a list of tokens, not {}", kind_of((*prompt)[i])));
    }
  }
}

/// Counts the characters of a text that comes in tokens, which may hold parts of some.
class CharacterCount {
 public:
  /// Where the token begins, in characters.
  size_t pass(std::string_view token) {
    size_t before = part_.size();
    part_ += token;
    // What this token shows to be no character is one of replacement, before it.
    while (before > 0 && count_step(before)) before = part_.size() - token.size();
    const size_t place = characters_;
    while (count_step(part_.size())) {
    }
    return place;
  }

 private:
  /// Whether a character, or what stands for none, has ended within the first `bytes` of what is left.
  bool count_step(size_t bytes) {
    if (part_.empty()) return false;
    const text::Utf8Step step = text::utf8_step(part_);
    if (step.kind == text::Utf8Step::Kind::truncated || step.length > bytes) return false;
    part_.erase(0, step.length);
    ++characters_;
    return true;
  }

  size_t characters_ = 0;
  std::string part_;
};

class CompletionReply : public Reply {
 public:
  CompletionReply(const Service& service, const ResponderPtr& responder, const CompletionRequest& request)
      : Reply(service, responder,
              {request.generation.stream, request.prompts.size() * request.generation.choices,
               request.generation.return_progress},
              Dialect::openai),
        include_usage_(request.generation.include_usage),
        top_(request.logprobs),
        texts_(choices_.size()),
        characters_(choices_.size()) {
    if (!request.echo) return;
    for (size_t i = 0; i < texts_.size(); ++i) {
      const std::vector<int32_t>& prompt = request.prompts[i / request.generation.choices];
      texts_[i] = service.model().tokenizer().decode(prompt, /*specials=*/true);
      if (request.judges_prompts()) first_.push_back(prompt.front());
    }
  }

 protected:
  void stream_begin() override {
    if (!first_.empty()) return;  // with their log-probabilities, when those are known
    for (size_t i = 0; i < texts_.size(); ++i) {
      if (!texts_[i].empty()) write(event(chunk(i, texts_[i], nullptr, nullptr)));
    }
  }
  void stream_prompt(size_t choice) override {
    write(event(chunk(choice, texts_[choice], logprobs(choice, judged_prompt(choice)), nullptr)));
  }
  void stream_reading(size_t done, const engine::Usage& usage) override {
    Json progress = body();
    progress["choices"] = Json::array();
    progress["prompt_progress"] = progress_json(done, usage);
    write(event(progress));
  }
  void stream_delta(size_t choice, const text::OutputDelta& delta, const std::vector<engine::Choice>& tokens) override {
    write(event(chunk(choice, delta.text, logprobs(choice, tokens), nullptr)));
  }
  void stream_choice_end(size_t choice) override {
    write(event(chunk(choice, "", nullptr, openai_finish_reason(*choices_[choice].ending))));
  }
  void stream_end() override {
    if (include_usage_) {
      Json last = body();
      last["choices"] = Json::array();
      last["usage"] = openai_usage(usage());
      last["timings"] = timings(choices_.front().usage);
      write(event(last));
    }
    write("data: [DONE]\n\n");
  }
  void stream_failed(const Refusal& refusal) override { write(event(error_body(refusal, Dialect::openai))); }

  Json whole() override {
    Json all = body();
    all["choices"] = Json::array();
    for (size_t i = 0; i < choices_.size(); ++i) {
      std::vector<engine::Choice> tokens = judged_prompt(i);
      tokens.insert(tokens.end(), choices_[i].tokens.begin(), choices_[i].tokens.end());
      all["choices"].push_back({{"text", texts_[i] + choices_[i].output.content},
                                {"index", i},
                                {"logprobs", logprobs(i, tokens)},
                                {"finish_reason", openai_finish_reason(*choices_[i].ending)}});
    }
    all["usage"] = openai_usage(usage());
    all["timings"] = timings(choices_.front().usage);
    return all;
  }

 private:
  Json body() const {
    return {{"id", id_}, {"object", "text_completion"}, {"created", created_}, {"model", service_.name()}};
  }
  Json chunk(size_t choice, const std::string& text, const Json& logprobs, const Json& finish) const {
    Json made = body();
    made["choices"] = {{{"text", text}, {"index", choice}, {"logprobs", logprobs}, {"finish_reason", finish}}};
    return made;
  }
  /// The tokens of an echoed prompt, if they are judged. Nothing comes before the first, so it has no probability.
  std::vector<engine::Choice> judged_prompt(size_t choice) const {
    if (first_.empty()) return {};
    std::vector<engine::Choice> tokens = {{first_[choice], NAN, {}}};
    tokens.insert(tokens.end(), choices_[choice].prompt.begin(), choices_[choice].prompt.end());
    return tokens;
  }
  Json logprobs(size_t choice, const std::vector<engine::Choice>& tokens) {
    if (!top_) return nullptr;
    Json texts = Json::array(), values = Json::array(), tops = Json::array(), offsets = Json::array();
    const text::Tokenizer& tokenizer = service_.model().tokenizer();
    for (const engine::Choice& token : tokens) {
      const std::string text = text::utf8_lossy(tokenizer.token_bytes(token.token));
      texts.push_back(text);
      values.push_back(logprob_json(token.logprob));
      Json top = Json::object();
      for (const auto& [id, logprob] : token.top)
        top[text::utf8_lossy(tokenizer.token_bytes(id))] = logprob_json(logprob);
      tops.push_back(std::isnan(token.logprob) ? Json(nullptr) : std::move(top));
      offsets.push_back(characters_[choice].pass(tokenizer.token_bytes(token.token)));
    }
    return {{"tokens", texts}, {"token_logprobs", values}, {"top_logprobs", tops}, {"text_offset", offsets}};
  }

  std::string id_ = make_id("cmpl-");
  bool include_usage_;
  std::optional<size_t> top_;
  std::vector<std::string> texts_;  ///< before the answers: the echoed prompts
  std::vector<int32_t> first_;      ///< tokens of the prompts that are judged
  std::vector<CharacterCount> characters_;
};

void check_judged(const Fields& fields, const CompletionRequest& request) {
  if (!request.judges_prompts()) return;
  size_t tokens = 0;
  for (const auto& prompt : request.prompts) tokens += prompt.size();
  const size_t judged = tokens * request.generation.choices * (1 + *request.logprobs);
  if (judged > kMaximumJudged) {
    fields.refuse("echo", fmt::format("with these logprobs would give {} log-probabilities of prompts; at most {} are "
                                      "possible. Send fewer or shorter prompts",
                                      judged, kMaximumJudged));
  }
}

void complete(Service& service, const Call& call, const Json& body) {
  std::optional<Refusal> problem;
  const Fields fields(body, "", problem);
  CompletionRequest request;
  read_generation_fields(fields, service, request.generation);
  fields.read("echo", request.echo);
  fields.read("logprobs", request.logprobs, size_t{0}, size_t{20});
  if (fields.has("suffix"))
    fields.refuse("suffix", "is not supported: this server does not fill in the middle of a text. Leave it out");
  read_prompts(fields, service, request, problem);
  check_judged(fields, request);
  if (problem) return call.refuse(*problem);
  Submission submission;
  if (auto refusal = constrain(service, request.generation, submission)) return call.refuse(*refusal);
  submission.prompts = request.prompts;
  apply(request.generation, submission);
  submission.max_tokens = request.generation.max_tokens.value_or(16);
  submission.top_logprobs = request.logprobs.value_or(0);
  submission.prompt_logprobs = request.judges_prompts();
  submission.client = call.client();
  submission.answer = [stop = request.generation.stop, logprobs = request.logprobs.has_value()] {
    return AnswerOptions{.stop = stop, .logprobs = logprobs};
  };
  const auto reply = std::make_shared<CompletionReply>(service, call.responder, request);
  if (const auto refusal = service.submit(std::move(submission), reply, call.responder)) call.refuse(*refusal);
}

}  // namespace

void add_completions(Router& router, Service& service) {
  add_model_endpoint(router, service, "/v1/completions", Dialect::openai,
                     [&service](const Call& call, const Json& body) { complete(service, call, body); });
}

}  // namespace terrace::serve
