#include "cli/answerers.h"

#include "base/json.h"
#include "cli/chat_prompt.h"
#include "engine/conversation_cache.h"
#include "serve/http/client.h"

namespace terrace::cli {
namespace {

class LocalAnswerer : public Answerer {
 public:
  LocalAnswerer(std::unique_ptr<engine::Engine> engine, text::ChatTemplate chat, engine::GenerateOptions options)
      : engine_(std::move(engine)), template_(std::move(chat)), options_(std::move(options)) {}

  std::string name() const override {
    return fmt::format("{}, {} threads, {}", engine_->info().name, engine_->backend().threads(),
                       engine_->backend().instruction_set());
  }

  Result<Answered> answer(const Json& messages, const engine::TextSink& sink) override {
    TERRACE_TRY(const auto prompt, chat_tokens(template_, *engine_->tokenizer(), messages));
    // What the new prompt shares with the sequence is not read again; at least one token must be, for its logits.
    const auto needed = std::span(prompt).first(prompt.empty() ? 0 : prompt.size() - 1);
    const size_t shared = sequence_.truncate(engine::common_length(sequence_.tokens(), needed));
    TERRACE_TRY(auto generated,
                engine::generate(*engine_, sequence_, std::span(prompt).subspan(shared), options_, sink));
    return Answered{std::move(generated.text), generated.finish};
  }

 private:
  std::unique_ptr<engine::Engine> engine_;
  text::ChatTemplate template_;
  engine::GenerateOptions options_;
  engine::Sequence sequence_;
};

class RemoteAnswerer : public Answerer {
 public:
  RemoteAnswerer(serve::HttpUrl url, std::string key, Json options)
      : url_(std::move(url)), key_(std::move(key)), options_(std::move(options)) {}

  std::string name() const override { return fmt::format("the server at {}:{}", url_.host, url_.port); }

  Result<Answered> answer(const Json& messages, const engine::TextSink& sink) override {
    Json body = options_;
    body["messages"] = messages;
    body["stream"] = true;
    Answered answered;
    std::string problem;
    const auto take = [&](std::string_view line) {
      constexpr std::string_view field = "data: ";
      if (!line.starts_with(field) || line == "data: [DONE]") return sink("");
      try {
        return take_event(Json::parse(line.substr(field.size())), answered, problem, sink);
      } catch (const Json::exception&) {
        problem = unknown_form;
        return false;
      }
    };
    TERRACE_CHECK(serve::post_for_lines(url_, "/v1/chat/completions", key_, json_line(body), take));
    if (!problem.empty()) return Error{problem};
    return answered;
  }

 private:
  static constexpr const char* unknown_form = "the server sends events of a form that is not known";

  /// Throws Json::exception where the event is not as OpenAI's API has it.
  static bool take_event(const Json& event, Answered& answered, std::string& problem, const engine::TextSink& sink) {
    if (!event.is_object()) {
      problem = unknown_form;
      return false;
    }
    if (event.contains("error")) problem = event.at("error").at("message");
    if (!event.contains("choices") || event.at("choices").empty()) return true;
    const Json& choice = event.at("choices").at(0);
    if (choice.value("finish_reason", Json()) == "length") answered.finish = engine::Finish::length;
    const Json content = choice.at("delta").value("content", Json());
    if (!content.is_string()) return true;
    answered.text += content.get<std::string>();
    if (sink(content.get<std::string>())) return true;
    answered.finish = engine::Finish::cancelled;
    return false;
  }

  serve::HttpUrl url_;
  std::string key_;
  Json options_;
};

}  // namespace

Result<std::unique_ptr<Answerer>> local_answerer(const ModelOptions& model, const engine::GenerateOptions& options) {
  TERRACE_TRY(auto engine, load_engine(model));
  if (!engine->tokenizer()) return fail("the model file has no vocabulary, so it cannot chat");
  TERRACE_TRY(auto chat, chat_template_of(engine->metadata()));
  return std::unique_ptr<Answerer>(std::make_unique<LocalAnswerer>(std::move(engine), std::move(chat), options));
}

Result<std::unique_ptr<Answerer>> remote_answerer(const std::string& url, const std::string& key, Json options) {
  TERRACE_TRY(auto parsed, serve::HttpUrl::parse(url));
  return std::unique_ptr<Answerer>(std::make_unique<RemoteAnswerer>(std::move(parsed), key, std::move(options)));
}

}  // namespace terrace::cli
