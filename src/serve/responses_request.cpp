#include "serve/responses_request.h"

#include <fmt/format.h>

namespace terrace::serve {
namespace {

using Problem = std::optional<Refusal>;
constexpr size_t kMaximumStored = 1024, kMaximumStoredBytes = size_t{64} << 20;

/// A part of an assistant's turn is added to the turn if the last message is one.
Json& assistant_turn(Json& messages) {
  if (messages.empty() || messages.back().value("role", "") != "assistant")
    messages.push_back({{"role", "assistant"}, {"content", ""}});
  return messages.back();
}

std::string texts_of(const Json* parts, const char* field) {
  std::string text;
  if (!parts || !parts->is_array()) return text;
  for (const Json& part : *parts) {
    if (part.is_object() && part.contains(field) && part[field].is_string()) text += part[field].get<std::string>();
  }
  return text;
}

void add_item(const Json& item, const std::string& path, Json& messages, Problem& problem) {
  const Fields fields(item, path, problem);
  std::string type = "message", role, call_id, name, arguments;
  fields.read("type", type);
  if (type == "message") {
    fields.read("role", role);
    const Json* content = fields.find("content");
    if (role.empty()) return fields.refuse("role", "is missing");
    if (!content) return fields.refuse("content", "is missing");
    messages.push_back({{"role", role}, {"content", *content}});
  } else if (type == "function_call") {
    fields.read("call_id", call_id);
    fields.read("name", name);
    fields.read("arguments", arguments);
    if (name.empty()) return fields.refuse("name", "is missing");
    assistant_turn(messages)["tool_calls"].push_back(
        {{"id", call_id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}});
  } else if (type == "function_call_output") {
    fields.read("call_id", call_id);
    const Json* output = fields.find("output");
    messages.push_back({{"role", "tool"}, {"tool_call_id", call_id}, {"content", output ? *output : Json("")}});
  } else if (type == "reasoning") {
    const std::string text = texts_of(fields.find("content"), "text") + texts_of(fields.find("summary"), "text");
    if (!text.empty()) messages.push_back({{"role", "assistant"}, {"content", ""}, {"reasoning_content", text}});
  } else {
    fields.refuse(
        "type",
        fmt::format("is '{}'; this server knows message, function_call, function_call_output and reasoning", type));
  }
}

/// Reasoning, a message and calls that follow one another are one turn of the assistant.
Json merged(const Json& messages) {
  Json turns = Json::array();
  for (const Json& message : messages) {
    const bool continues = message.value("role", "") == "assistant" && !turns.empty() &&
                           turns.back().value("role", "") == "assistant" && turns.back()["content"] == "" &&
                           !turns.back().contains("tool_calls");
    if (!continues) {
      turns.push_back(message);
      continue;
    }
    for (const auto& [key, value] : message.items()) turns.back()[key] = value;
  }
  return turns;
}

void read_input(const Fields& fields, const ResponseStore& store, Json& messages, Problem& problem) {
  std::string previous;
  fields.read("previous_response_id", previous);
  if (!previous.empty()) {
    auto before = store.messages(previous);
    if (!before && !problem) {
      problem = Refusal{
          400, fmt::format("there is no response '{}' here any more; send the whole conversation as input", previous),
          "previous_response_id", "previous_response_not_found"};
      return;
    }
    if (before) messages = std::move(*before);
  }
  const Json* input = fields.find("input");
  if (!input) return fields.refuse("input", "is missing");
  if (input->is_string()) {
    messages.push_back({{"role", "user"}, {"content", *input}});
  } else if (input->is_array()) {
    for (size_t i = 0; i < input->size(); ++i) add_item((*input)[i], fmt::format("input[{}]", i), messages, problem);
    messages = merged(messages);
  } else {
    fields.refuse("input", fmt::format("must be a text or a list of items, not {}", kind_of(*input)));
  }
  if (messages.empty()) fields.refuse("input", "is empty");
}

/// Responses' tools are flat; chat's have the function inside.
void read_flat_tools(const Fields& fields, ChatRequest& into, Problem& problem) {
  Json body = Json::object();
  if (const Json* tools = fields.list("tools")) {
    body["tools"] = Json::array();
    for (const Json& tool : *tools) {
      const bool flat =
          tool.is_object() && tool.contains("type") && tool["type"] == "function" && !tool.contains("function");
      if (!flat) {
        body["tools"].push_back(tool);
        continue;
      }
      Json function = tool;
      function.erase("type");
      body["tools"].push_back({{"type", "function"}, {"function", std::move(function)}});
    }
  }
  for (const char* key : {"tool_choice", "parallel_tool_calls"}) {
    if (const Json* value = fields.find(key)) body[key] = *value;
  }
  read_tools(Fields(body, "", problem), into, problem);
}

void read_text_format(const Fields& fields, ChatRequest& into, Problem& problem) {
  const Json* text = fields.object("text");
  const Json* format = text ? Fields(*text, "text", problem).object("format") : nullptr;
  if (!format) return;
  const Fields settings(*format, "text.format", problem);
  std::string type = "text";
  settings.read_choice("type", type, {"text", "json_object", "json_schema"});
  into.json_object = type == "json_object";
  if (type != "json_schema") return;
  const Json* schema = settings.object("schema");
  if (!schema) return settings.refuse("schema", "is missing");
  into.schema = *schema;
  into.schema_path = "text.format.schema";
}

Json echo_of(const Fields& fields, const Json& body) {
  Json echo = Json::object();
  const std::pair<const char*, Json> settings[] = {{"instructions", nullptr},
                                                   {"max_output_tokens", nullptr},
                                                   {"parallel_tool_calls", true},
                                                   {"previous_response_id", nullptr},
                                                   {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
                                                   {"store", true},
                                                   {"temperature", nullptr},
                                                   {"text", {{"format", {{"type", "text"}}}}},
                                                   {"tool_choice", "auto"},
                                                   {"tools", Json::array()},
                                                   {"top_p", nullptr},
                                                   {"truncation", "disabled"},
                                                   {"user", nullptr},
                                                   {"metadata", Json::object()}};
  for (const auto& [key, otherwise] : settings) echo[key] = fields.has(key) ? body[key] : otherwise;
  return echo;
}

}  // namespace

void ResponseStore::drop(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  places_.erase(entry->id);
  entries_.erase(entry);
}

void ResponseStore::put(const std::string& id, Json response, Json messages) {
  const size_t bytes = json_line(response).size() + json_line(messages).size();
  const std::lock_guard lock(mutex_);
  if (bytes > kMaximumStoredBytes) return;
  entries_.push_front({id, std::move(response), std::move(messages), bytes});
  places_[id] = entries_.begin();
  bytes_ += bytes;
  while (bytes_ > kMaximumStoredBytes || entries_.size() > kMaximumStored) drop(std::prev(entries_.end()));
}

std::optional<Json> ResponseStore::messages(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(id);
  return found == places_.end() ? std::nullopt : std::optional(found->second->messages);
}

std::optional<Json> ResponseStore::response(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(id);
  return found == places_.end() ? std::nullopt : std::optional(found->second->response);
}

bool ResponseStore::erase(const std::string& id) {
  const std::lock_guard lock(mutex_);
  const auto found = places_.find(id);
  if (found == places_.end()) return false;
  drop(found->second);
  return true;
}

std::optional<Refusal> read_responses_request(const Json& body, const Service& service, const ResponseStore& store,
                                              ResponsesRequest& into) {
  Problem problem;
  const Fields fields(body, "", problem);
  read_generation_fields(fields, service, into.chat.generation);
  into.chat.generation.choices = 1;
  read_input(fields, store, into.chat.messages, problem);
  read_flat_tools(fields, into.chat, problem);
  read_text_format(fields, into.chat, problem);
  read_template_fields(fields, into.chat);
  std::string instructions, effort;
  fields.read("instructions", instructions);
  // They hold for this response only: those of the one before are not in the stored messages.
  if (!instructions.empty())
    into.chat.messages.insert(into.chat.messages.begin(), Json{{"role", "system"}, {"content", instructions}});
  if (const Json* reasoning = fields.object("reasoning"))
    Fields(*reasoning, "reasoning", problem).read("effort", effort);
  if (!effort.empty()) set_reasoning_effort(effort, into.chat);
  fields.read("store", into.store);
  into.echo = echo_of(fields, body);
  return problem;
}

}  // namespace terrace::serve
