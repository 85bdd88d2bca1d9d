// POST /v1/chat/completions (https://platform.openai.com/docs/api-reference/chat), with llama-server's and DeepSeek's
// reasoning_content.
#include "serve/chat_request.h"
#include "serve/endpoints.h"
#include "serve/openai_usage.h"

namespace terrace::serve {
namespace {

using Kind = text::OutputDelta::Kind;

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

class ChatReply : public Reply {
 public:
  ChatReply(const Service& service, const ResponderPtr& responder, const ChatRequest& request)
      : Reply(service, responder,
              {request.generation.stream, request.generation.choices, request.generation.return_progress},
              Dialect::openai),
        include_usage_(request.generation.include_usage),
        logprobs_(request.logprobs) {}

 protected:
  void stream_begin() override {
    for (size_t i = 0; i < choices_.size(); ++i) write(event(chunk(i, {{"role", "assistant"}, {"content", ""}})));
  }
  void stream_reading(size_t done, const engine::Usage& usage) override {
    Json progress = body("chat.completion.chunk");
    progress["choices"] = Json::array();
    progress["prompt_progress"] = progress_json(done, usage);
    write(event(progress));
  }
  void stream_delta(size_t choice, const text::OutputDelta& delta, const std::vector<engine::Choice>& tokens) override {
    Json made = Json::object();
    switch (delta.kind) {
      case Kind::reasoning:
        made["reasoning_content"] = delta.text;
        break;
      case Kind::content:
        made["content"] = delta.text;
        break;
      case Kind::call_begin:
        made["tool_calls"] = {{{"index", delta.call},
                               {"id", choices_[choice].call_ids.back()},
                               {"type", "function"},
                               {"function", {{"name", delta.text}, {"arguments", ""}}}}};
        break;
      case Kind::call_arguments:
        made["tool_calls"] = {{{"index", delta.call}, {"function", {{"arguments", delta.text}}}}};
        break;
      case Kind::call_end:
        return stream_tokens(choice, tokens);
    }
    write(event(chunk(choice, std::move(made), logprobs(tokens))));
  }
  void stream_tokens(size_t choice, const std::vector<engine::Choice>& tokens) override {
    if (!tokens.empty()) write(event(chunk(choice, Json::object(), logprobs(tokens))));
  }
  void stream_choice_end(size_t choice) override {
    write(event(chunk(choice, Json::object(), nullptr, openai_finish_reason(*choices_[choice].ending))));
  }
  void stream_end() override {
    if (include_usage_) {
      Json last = body("chat.completion.chunk");
      last["choices"] = Json::array();
      last["usage"] = usage_json();
      last["timings"] = timings(choices_.front().usage);
      write(event(last));
    }
    write("data: [DONE]\n\n");
  }
  void stream_failed(const Refusal& refusal) override { write(event(error_body(refusal, Dialect::openai))); }

  Json whole() override {
    Json all = body("chat.completion");
    all["choices"] = Json::array();
    for (size_t i = 0; i < choices_.size(); ++i) {
      all["choices"].push_back({{"index", i},
                                {"message", message(choices_[i])},
                                {"logprobs", logprobs(choices_[i].tokens)},
                                {"finish_reason", openai_finish_reason(*choices_[i].ending)}});
    }
    all["usage"] = usage_json();
    all["timings"] = timings(choices_.front().usage);
    return all;
  }

 private:
  Json body(const char* object) const {
    return {{"id", id_},
            {"object", object},
            {"created", created_},
            {"model", service_.name()},
            {"system_fingerprint", "terrace-" + service_.options().version}};
  }
  Json chunk(size_t choice, Json delta, const Json& logprobs = nullptr, const Json& finish = nullptr) const {
    Json made = body("chat.completion.chunk");
    made["choices"] = {
        {{"index", choice}, {"delta", std::move(delta)}, {"logprobs", logprobs}, {"finish_reason", finish}}};
    return made;
  }
  Json usage_json() const {
    Json made = openai_usage(usage());
    size_t reasoning = 0;
    for (const GatheredChoice& choice : choices_) reasoning += choice.ending ? choice.ending->reasoning_tokens : 0;
    made["completion_tokens_details"] = {{"reasoning_tokens", reasoning}};
    return made;
  }
  static Json message(const GatheredChoice& choice) {
    const text::ParsedOutput& output = choice.output;
    Json made = {{"role", "assistant"},
                 {"content", output.calls.empty() ? Json(output.content) : text_or_null(output.content)}};
    if (!output.reasoning.empty()) made["reasoning_content"] = output.reasoning;
    made["refusal"] = nullptr;
    for (size_t i = 0; i < output.calls.size(); ++i) {
      made["tool_calls"].push_back(
          {{"id", choice.call_ids[i]},
           {"type", "function"},
           {"function", {{"name", output.calls[i].name}, {"arguments", output.calls[i].arguments}}}});
    }
    return made;
  }
  Json logprobs(const std::vector<engine::Choice>& tokens) const {
    if (!logprobs_ || tokens.empty()) return nullptr;
    const text::Tokenizer& tokenizer = service_.model().tokenizer();
    Json content = Json::array();
    for (const engine::Choice& token : tokens) {
      Json entry = token_json(tokenizer, token.token, token.logprob);
      entry["top_logprobs"] = Json::array();
      for (const auto& [id, logprob] : token.top) entry["top_logprobs"].push_back(token_json(tokenizer, id, logprob));
      content.push_back(std::move(entry));
    }
    return {{"content", std::move(content)}, {"refusal", nullptr}};
  }

  std::string id_ = make_id("chatcmpl-");
  bool include_usage_, logprobs_;
};

void chat(Service& service, const Call& call, const Json& body) {
  ChatRequest request;
  if (const auto refusal = read_chat_request(body, service, request)) return call.refuse(*refusal);
  Submission submission;
  if (const auto refusal = prepare(service, request, submission)) return call.refuse(*refusal);
  submission.client = call.client();
  const auto reply = std::make_shared<ChatReply>(service, call.responder, request);
  if (const auto refusal = service.submit(std::move(submission), reply, call.responder)) call.refuse(*refusal);
}

}  // namespace

void add_chat_completions(Router& router, Service& service) {
  for (const char* path : {"/v1/chat/completions", "/chat/completions"}) {
    add_model_endpoint(router, service, path, Dialect::openai,
                       [&service](const Call& call, const Json& body) { chat(service, call, body); });
  }
}

}  // namespace terrace::serve
