// POST /v1/responses, GET and DELETE /v1/responses/ID (https://platform.openai.com/docs/api-reference/responses and
// .../responses-streaming).
#include <fmt/format.h>

#include "serve/endpoints.h"
#include "serve/reply.h"
#include "serve/responses_request.h"

namespace terrace::serve {
namespace {

using Kind = text::OutputDelta::Kind;

class ResponsesReply : public Reply {
 public:
  ResponsesReply(const Service& service, const ResponderPtr& responder, ResponsesRequest request,
                 std::shared_ptr<ResponseStore> store)
      : Reply(service, responder, {request.chat.generation.stream, 1, /*return_progress=*/false}, Dialect::openai),
        request_(std::move(request)),
        store_(std::move(store)) {}

 protected:
  void stream_begin() override {
    send("response.created", {{"response", response("in_progress")}});
    send("response.in_progress", {{"response", response("in_progress")}});
  }

  void gather(size_t, const text::OutputDelta& delta) override {
    switch (delta.kind) {
      case Kind::reasoning:
        open_part("reasoning", "rs_", {{"summary", Json::array()}, {"content", Json::array()}},
                  {{"type", "reasoning_text"}, {"text", ""}});
        return add_text("response.reasoning_text.delta", delta.text);
      case Kind::content:
        open_part("message", "msg_", {{"role", "assistant"}, {"content", Json::array()}},
                  {{"type", "output_text"}, {"text", ""}, {"annotations", Json::array()}, {"logprobs", Json::array()}});
        return add_text("response.output_text.delta", delta.text);
      case Kind::call_begin:
        close();
        return open("function_call", "fc_",
                    {{"call_id", choices_[0].call_ids.back()}, {"name", delta.text}, {"arguments", ""}});
      case Kind::call_arguments:
        item()["arguments"] = item()["arguments"].get<std::string>() + delta.text;
        return send("response.function_call_arguments.delta",
                    {{"item_id", item()["id"]}, {"output_index", index()}, {"delta", delta.text}});
      case Kind::call_end:
        return close();
    }
  }
  void gather_end(size_t) override {
    complete_ = choices_[0].ending->finish == engine::Finish::stop;
    close();
    keep();
  }
  void stream_end() override {
    const char* status = complete_ ? "completed" : "incomplete";
    send(fmt::format("response.{}", status), {{"response", response(status)}});
  }
  void stream_failed(const Refusal& refusal) override {
    Json failed = response("failed");
    failed["error"] = {{"code", "server_error"}, {"message", refusal.message}};
    send("response.failed", {{"response", std::move(failed)}});
  }
  Json whole() override { return response(complete_ ? "completed" : "incomplete"); }

 private:
  Json& item() { return output_.back(); }
  size_t index() const { return output_.size() - 1; }

  void send(const std::string& type, Json data) {
    if (!streams()) return;
    Json all = {{"type", type}, {"sequence_number", sequence_++}};
    all.update(data);
    write(named_event(type, all));
  }
  /// Begins an item, unless one of this type is open.
  void open(const char* type, const char* prefix, Json fields) {
    Json item = {{"id", make_id(prefix)}, {"type", type}, {"status", "in_progress"}};
    item.update(fields);
    output_.push_back(std::move(item));
    open_ = true;
    send("response.output_item.added", {{"output_index", index()}, {"item", output_.back()}});
  }
  void open_part(const char* type, const char* prefix, Json fields, Json part) {
    if (open_ && item()["type"] == type) return;
    close();
    open(type, prefix, std::move(fields));
    send("response.content_part.added", place({{"part", part}}));
    item()["content"].push_back(std::move(part));
  }
  Json place(Json rest) {
    Json all = {{"item_id", item()["id"]}, {"output_index", index()}, {"content_index", 0}};
    all.update(rest);
    return all;
  }
  void add_text(const char* type, const std::string& text) {
    Json& part = item()["content"][0];
    part["text"] = part["text"].get<std::string>() + text;
    Json data = place({{"delta", text}});
    if (item()["type"] == "message") data["logprobs"] = Json::array();
    send(type, std::move(data));
  }
  void close() {
    if (!open_) return;
    open_ = false;
    const std::string type = item()["type"];
    if (type == "function_call") {
      send("response.function_call_arguments.done", {{"item_id", item()["id"]},
                                                     {"output_index", index()},
                                                     {"name", item()["name"]},
                                                     {"arguments", item()["arguments"]}});
    } else {
      const Json part = item()["content"][0];
      Json done = place({{"text", part["text"]}});
      if (type == "message") done["logprobs"] = Json::array();
      send(type == "message" ? "response.output_text.done" : "response.reasoning_text.done", std::move(done));
      send("response.content_part.done", place({{"part", part}}));
    }
    item()["status"] = complete_ ? "completed" : "incomplete";
    send("response.output_item.done", {{"output_index", index()}, {"item", item()}});
  }
  Json usage_json() const {
    const engine::Usage sum = usage();
    return {{"input_tokens", sum.prompt_tokens},
            {"input_tokens_details", {{"cached_tokens", sum.cached_tokens}, {"cache_write_tokens", sum.kept_tokens}}},
            {"output_tokens", sum.completion_tokens},
            {"output_tokens_details",
             {{"reasoning_tokens", choices_[0].ending ? choices_[0].ending->reasoning_tokens : 0}}},
            {"total_tokens", sum.prompt_tokens + sum.completion_tokens}};
  }
  Json response(const std::string& status) const {
    const bool over = status == "completed" || status == "incomplete";
    Json all = {{"id", id_},
                {"object", "response"},
                {"created_at", created_},
                {"status", status},
                {"background", false},
                {"error", nullptr},
                {"incomplete_details", status == "incomplete" ? Json{{"reason", "max_output_tokens"}} : Json(nullptr)},
                {"model", service_.name()},
                {"output", over ? output_ : Json::array()}};
    all.update(request_.echo);
    all["usage"] = over ? usage_json() : Json(nullptr);
    return all;
  }
  /// For previous_response_id: without the instructions, which hold for one response only.
  void keep() {
    if (!request_.store || choices_[0].ending->finish == engine::Finish::cancelled) return;
    Json messages = request_.chat.messages;
    if (!request_.echo["instructions"].is_null()) messages.erase(0);
    const text::ParsedOutput& output = choices_[0].output;
    Json answer = {{"role", "assistant"}, {"content", output.content}};
    if (!output.reasoning.empty()) answer["reasoning_content"] = output.reasoning;
    for (size_t i = 0; i < output.calls.size(); ++i) {
      answer["tool_calls"].push_back(
          {{"id", choices_[0].call_ids[i]},
           {"type", "function"},
           {"function", {{"name", output.calls[i].name}, {"arguments", output.calls[i].arguments}}}});
    }
    messages.push_back(std::move(answer));
    store_->put(id_, response(complete_ ? "completed" : "incomplete"), std::move(messages));
  }

  ResponsesRequest request_;
  std::shared_ptr<ResponseStore> store_;
  std::string id_ = make_id("resp_");
  Json output_ = Json::array();
  bool open_ = false, complete_ = true;
  size_t sequence_ = 0;
};

void respond(Service& service, const std::shared_ptr<ResponseStore>& store, const Call& call, const Json& body) {
  ResponsesRequest request;
  if (const auto refusal = read_responses_request(body, service, *store, request)) return call.refuse(*refusal);
  Submission submission;
  if (const auto refusal = prepare(service, request.chat, submission)) return call.refuse(*refusal);
  submission.client = call.client();
  const auto reply = std::make_shared<ResponsesReply>(service, call.responder, std::move(request), store);
  if (const auto refusal = service.submit(std::move(submission), reply, call.responder)) call.refuse(*refusal);
}

Refusal unknown(const std::string& id) {
  return {404, fmt::format("there is no response '{}' here any more", id), "", "not_found"};
}

}  // namespace

void add_responses(Router& router, Service& service) {
  const auto store = std::make_shared<ResponseStore>();
  add_model_endpoint(router, service, "/v1/responses", Dialect::openai,
                     [&service, store](const Call& call, const Json& body) { respond(service, store, call, body); });
  router.add("GET", "/v1/responses/*", [store](const Call& call) {
    const auto found = store->response(call.tail);
    found ? call.send(*found) : call.refuse(unknown(call.tail));
  });
  router.add("DELETE", "/v1/responses/*", [store](const Call& call) {
    if (!store->erase(call.tail)) return call.refuse(unknown(call.tail));
    call.send({{"id", call.tail}, {"object", "response"}, {"deleted", true}});
  });
}

}  // namespace terrace::serve
