// POST /v1/messages and /v1/messages/count_tokens (https://docs.anthropic.com/en/api/messages, .../messages-streaming).
#include "serve/anthropic_messages.h"
#include "serve/endpoints.h"
#include "serve/reply.h"

namespace terrace::serve {
namespace {

using Kind = text::OutputDelta::Kind;

class MessagesReply : public Reply {
 public:
  MessagesReply(const Service& service, const ResponderPtr& responder, const ChatRequest& request)
      : Reply(service, responder, {request.generation.stream, 1, /*return_progress=*/true}, Dialect::anthropic) {}

 protected:
  std::string call_id_prefix() const override { return "toolu_"; }

  void stream_begin() override {
    Json message = body();
    message["content"] = Json::array();
    message["stop_reason"] = nullptr;
    message["stop_sequence"] = nullptr;
    message["usage"] = usage_json();
    send({{"type", "message_start"}, {"message", std::move(message)}});
    send({{"type", "ping"}});
  }
  void stream_reading(size_t, const engine::Usage&) override { send({{"type", "ping"}}); }

  void gather(size_t, const text::OutputDelta& delta) override {
    switch (delta.kind) {
      case Kind::reasoning:
        open("thinking", {{"type", "thinking"}, {"thinking", ""}, {"signature", ""}});
        return add("thinking", "thinking_delta", "thinking", delta.text);
      case Kind::content:
        open("text", {{"type", "text"}, {"text", ""}});
        return add("text", "text_delta", "text", delta.text);
      case Kind::call_begin:
        close();
        arguments_.clear();
        return open("tool_use", {{"type", "tool_use"},
                                 {"id", choices_[0].call_ids.back()},
                                 {"name", delta.text},
                                 {"input", Json::object()}});
      case Kind::call_arguments:
        arguments_ += delta.text;
        return send_delta({{"type", "input_json_delta"}, {"partial_json", delta.text}});
      case Kind::call_end:
        return close();
    }
  }
  void gather_end(size_t) override { close(); }
  void stream_end() override {
    const Ending& ending = *choices_[0].ending;
    send({{"type", "message_delta"},
          {"delta", {{"stop_reason", stop_reason(ending)}, {"stop_sequence", stop_sequence(ending)}}},
          {"usage", usage_json()}});
    send({{"type", "message_stop"}});
  }
  void stream_failed(const Refusal& refusal) override { send(error_body(refusal, Dialect::anthropic)); }

  Json whole() override {
    Json message = body();
    message["content"] = blocks_;
    message["stop_reason"] = stop_reason(*choices_[0].ending);
    message["stop_sequence"] = stop_sequence(*choices_[0].ending);
    message["usage"] = usage_json();
    return message;
  }

 private:
  void send(const Json& data) { write(named_event(data["type"].get<std::string>(), data)); }
  void send_delta(const Json& delta) {
    send({{"type", "content_block_delta"}, {"index", blocks_.size() - 1}, {"delta", delta}});
  }
  /// Begins a block, unless one of this type is open.
  void open(const char* type, Json block) {
    if (open_ && blocks_.back()["type"] == type) return;
    close();
    send({{"type", "content_block_start"}, {"index", blocks_.size()}, {"content_block", block}});
    blocks_.push_back(std::move(block));
    open_ = true;
  }
  void add(const char* field, const char* type, const char* name, const std::string& text) {
    blocks_.back()[field] = blocks_.back()[field].get<std::string>() + text;
    send_delta({{"type", type}, {name, text}});
  }
  void close() {
    if (!open_) return;
    open_ = false;
    Json& block = blocks_.back();
    if (block["type"] == "thinking") {
      // Clients demand a signature and send it back; nobody checks it here.
      block["signature"] = "terrace";
      send_delta({{"type", "signature_delta"}, {"signature", "terrace"}});
    }
    const size_t index = blocks_.size() - 1;
    if (block["type"] == "tool_use") {
      Json input = Json::parse(arguments_, nullptr, /*allow_exceptions=*/false);
      if (input.is_object()) {
        block["input"] = std::move(input);
      } else if (!streams() && !arguments_.empty()) {
        // The answer was cut off inside of the arguments: they are not lost, though they are no object.
        blocks_.push_back({{"type", "text"}, {"text", arguments_}});
      }
    }
    send({{"type", "content_block_stop"}, {"index", index}});
  }
  Json body() const { return {{"id", id_}, {"type", "message"}, {"role", "assistant"}, {"model", service_.name()}}; }
  Json usage_json() const {
    const engine::Usage sum = usage();
    return {{"input_tokens", sum.prompt_tokens - sum.cached_tokens},
            {"cache_creation_input_tokens", 0},
            {"cache_read_input_tokens", sum.cached_tokens},
            {"output_tokens", sum.completion_tokens}};
  }
  static const char* stop_reason(const Ending& ending) {
    if (!ending.stop_string.empty()) return "stop_sequence";
    if (ending.finish == engine::Finish::length || ending.finish == engine::Finish::context) return "max_tokens";
    return ending.called ? "tool_use" : "end_turn";
  }
  static Json stop_sequence(const Ending& ending) {
    return ending.stop_string.empty() ? Json(nullptr) : Json(ending.stop_string);
  }

  std::string id_ = make_id("msg_");
  Json blocks_ = Json::array();
  bool open_ = false;
  std::string arguments_;
};

void messages(Service& service, const Call& call, const Json& body) {
  ChatRequest request;
  if (const auto refusal = read_messages_request(body, service, /*counting=*/false, request))
    return call.refuse(*refusal, Dialect::anthropic);
  Submission submission;
  if (const auto refusal = prepare(service, request, submission)) return call.refuse(*refusal, Dialect::anthropic);
  submission.client = call.client();
  const auto reply = std::make_shared<MessagesReply>(service, call.responder, request);
  if (const auto refusal = service.submit(std::move(submission), reply, call.responder))
    call.refuse(*refusal, Dialect::anthropic);
}

void count_tokens(Service& service, const Call& call, const Json& body) {
  ChatRequest request;
  if (const auto refusal = read_messages_request(body, service, /*counting=*/true, request))
    return call.refuse(*refusal, Dialect::anthropic);
  RenderedChat chat;
  if (const auto refusal = render(service, request, chat)) return call.refuse(*refusal, Dialect::anthropic);
  call.send({{"input_tokens", chat.tokens.size()}});
}

}  // namespace

void add_messages(Router& router, Service& service) {
  add_model_endpoint(router, service, "/v1/messages", Dialect::anthropic,
                     [&service](const Call& call, const Json& body) { messages(service, call, body); });
  add_model_endpoint(router, service, "/v1/messages/count_tokens", Dialect::anthropic,
                     [&service](const Call& call, const Json& body) { count_tokens(service, call, body); });
}

}  // namespace terrace::serve
