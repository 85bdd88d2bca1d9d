#include "text/chat_format/messages.h"

#include <unordered_map>

#include "text/chat_format/call_writer.h"
#include "text/chat_format/value_reader.h"

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kDepth = 256;  // of what comes from a request: some of it is walked by recursion

bool deeper_than(const Json& value, int levels) {
  if (!value.is_structured()) return false;
  if (levels == 0) return true;
  for (const Json& item : value) {
    if (deeper_than(item, levels - 1)) return true;
  }
  return false;
}

std::string text_member(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at != object.end() && at->is_string() ? at->get<std::string>() : "";
}

Result<std::string> part_text(const Json& part, const std::string& place) {
  if (part.is_string()) return part.get<std::string>();
  if (!part.is_object()) return fail("{}: a content part must be an object with a type", place);
  const std::string type = text_member(part, "type");
  for (const char* name : {"text", "refusal", "input_text", "output_text"}) {
    if (type != name) continue;
    const auto text = part.find(type == "refusal" ? "refusal" : "text");
    if (text == part.end() || !text->is_string()) return fail("{}: a part of type {} must have a text", place, type);
    return text->get<std::string>();
  }
  if (type.empty()) return fail("{}: a content part must have a type", place);
  return fail("{}: content of type {} is not supported; this model takes text only", place, type);
}

Result<std::string> content_text(const Json& message, const std::string& place) {
  const auto content = message.find("content");
  if (content == message.end() || content->is_null()) return std::string();
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) return fail("{}.content: must be a text or a list of parts", place);
  std::string text;
  for (size_t i = 0; i < content->size(); ++i) {
    TERRACE_TRY(const std::string part, part_text((*content)[i], fmt::format("{}.content[{}]", place, i)));
    text += part;
  }
  return text;
}

// The object that a text of arguments holds, or null.
Json arguments_object(const std::string& text) {
  std::string json;
  if (!read_value(ValueSyntax::json, text, json)) return nullptr;  // also bounds the depth
  Json value = Json::parse(json, nullptr, false);
  return value.is_object() ? value : Json(nullptr);
}

// What a template renders of the arguments of a past call.
Json rendered_arguments(const Json& arguments, const TemplateTraits& traits) {
  if (arguments.is_object()) return arguments;
  if (arguments.is_null()) return Json::object();
  const std::string text = arguments.is_string() ? arguments.get<std::string>() : arguments.dump();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return Json::object();
  Json object = arguments_object(text);
  if (!object.is_null()) return object;
  if (traits.text_arguments || !traits.calls) return text;
  return {{"arguments", text}};
}

Result<Json> prepare_calls(const Json& calls, const TemplateTraits& traits, const std::string& place) {
  if (!calls.is_array()) return fail("{}: must be a list", place);
  Json prepared = Json::array();
  for (size_t i = 0; i < calls.size(); ++i) {
    const Json& call = calls[i];
    const std::string here = fmt::format("{}[{}]", place, i);
    if (!call.is_object()) return fail("{}: must be an object", here);
    const auto function = call.find("function");
    if (function == call.end() || !function->is_object()) return fail("{}.function: must be an object", here);
    const std::string name = text_member(*function, "name");
    if (name.empty()) return fail("{}.function.name: must be a text", here);
    Json kept = call;
    kept["type"] = "function";
    kept["function"]["name"] = name;
    kept["function"]["arguments"] = rendered_arguments(function->value("arguments", Json()), traits);
    prepared.push_back(std::move(kept));
  }
  return prepared;
}

Json one_tool(const Json& function) {
  Json kept = function;
  if (text_member(kept, "description").empty()) kept["description"] = "";
  Json& parameters = kept["parameters"];
  if (!parameters.is_object()) parameters = Json::object();
  if (!parameters.contains("type")) parameters["type"] = "object";
  if (!parameters.contains("properties")) parameters["properties"] = Json::object();
  return {{"type", "function"}, {"function", std::move(kept)}};
}

Status prepare_tools(const Json& tools, PreparedChat& chat) {
  if (tools.is_null()) return Done{};
  if (!tools.is_array()) return Error{"tools: must be a list"};
  Json prepared = Json::array();
  for (size_t i = 0; i < tools.size(); ++i) {
    const Json& tool = tools[i];
    if (!tool.is_object()) return fail("tools[{}]: must be an object", i);
    if (deeper_than(tool, kDepth)) return fail("tools[{}]: is nested more than {} deep", i, kDepth);
    const std::string type = text_member(tool, "type");
    if (!type.empty() && type != "function") {
      chat.notes.push_back(
          fmt::format("tools[{}]: a tool of type {} is left out; only functions can be called", i, type));
      continue;
    }
    const auto nested = tool.find("function");
    const Json& function = nested != tool.end() ? *nested : tool;
    if (!function.is_object() || text_member(function, "name").empty()) {
      return fail("tools[{}]: must be {{\"type\": \"function\", \"function\": {{\"name\": ...}}}}", i);
    }
    const auto parameters = function.find("parameters");
    if (parameters != function.end() && !parameters->is_null() && !parameters->is_object()) {
      return fail("tools[{}].function.parameters: must be a JSON Schema, an object", i);
    }
    Json kept = function;
    if (nested == tool.end()) kept.erase("type");
    prepared.push_back(one_tool(kept));
  }
  if (!prepared.empty()) chat.tools = std::move(prepared);
  return Done{};
}

// Joins what a template cannot tell apart.
void append_text(Json& message, const std::string& text) {
  std::string& content = message["content"].get_ref<std::string&>();
  if (!content.empty() && !text.empty()) content += "\n\n";
  content += text;
}

class Preparer {
 public:
  Preparer(const ChatFormat& format, const TemplateTraits& traits, PreparedChat& chat)
      : format_(&format), traits_(&traits), chat_(&chat) {}

  Status add(const Json& message, const std::string& place) {
    if (!message.is_object()) return fail("{}: must be an object", place);
    if (deeper_than(message, kDepth)) return fail("{}: is nested more than {} deep", place, kDepth);
    std::string role = text_member(message, "role");
    if (role.empty()) return fail("{}.role: must be a text", place);
    if (role == "developer" && !traits_->developer) role = "system";
    if (role == "function") role = "tool";
    TERRACE_TRY(const std::string content, content_text(message, place));
    Json kept = message;
    kept["role"] = role;
    kept["content"] = content;
    if (role == "assistant") return add_answer(std::move(kept), place);
    if (role == "tool") return add_result(std::move(kept));
    if (role == "user" && joins_results()) {
      append_text(chat_->messages.back(), content);
      results_ = false;
      return Done{};
    }
    const bool system = role == "system" && chat_->messages.size() == 1 && chat_->messages[0]["role"] == "system";
    if (system && !traits_->several_systems) {
      append_text(chat_->messages[0], content);
      return Done{};
    }
    push(std::move(kept));
    return Done{};
  }

  // The tools, and a system message that the template has no place for.
  void finish() {
    Json& messages = chat_->messages;
    chat_->pass_tools = !chat_->tools.is_null() && format_->native_tools && traits_->tools;
    if (!chat_->tools.is_null() && !chat_->pass_tools) {
      const bool front = !messages.empty() && (messages[0]["role"] == "system" || messages[0]["role"] == "developer");
      if (!front) messages.insert(messages.begin(), Json{{"role", "system"}, {"content", ""}});
      append_text(messages[0], describe_tools(*format_, chat_->tools));
    }
    if (traits_->system || messages.size() < 2 || messages[0]["role"] != "system" || messages[1]["role"] != "user")
      return;
    append_text(messages[0], messages[1]["content"].get<std::string>());
    messages[1]["content"] = messages[0]["content"];
    messages.erase(messages.begin());
  }

 private:
  // A model that was told of the tools by describe_tools() gets results from the user, whatever roles there are.
  bool native() const { return format_->native_tools || format_->harmony(); }
  bool native_results() const { return traits_->results && native(); }
  bool joins_results() const { return results_; }

  void push(Json message) {
    results_ = false;
    chat_->messages.push_back(std::move(message));
  }

  Status add_answer(Json answer, const std::string& place) {
    const auto calls = answer.find("tool_calls");
    if (calls == answer.end() || calls->is_null() || (calls->is_array() && calls->empty())) {
      answer.erase("tool_calls");
      push(std::move(answer));
      return Done{};
    }
    TERRACE_TRY(Json prepared, prepare_calls(*calls, *traits_, place + ".tool_calls"));
    answer.erase("tool_calls");
    if (!native() || !traits_->calls) {
      Json functions = Json::array();
      for (const Json& call : prepared) functions.push_back(call["function"]);
      append_text(answer, write_calls(format_->tools, functions));
      push(std::move(answer));
      return Done{};
    }
    if (!traits_->full_answers && answer["content"] != "") {
      for (const char* name : {"reasoning_content", "reasoning", "thinking"}) answer.erase(name);
    }
    for (Json& call : prepared) call["id"] = rendered_id(text_member(call, "id"));
    push_calls(std::move(answer), std::move(prepared));
    return Done{};
  }

  // A template that writes one call an answer gets an answer for each.
  void push_calls(Json answer, Json calls) {
    if (traits_->several_calls) {
      answer["tool_calls"] = std::move(calls);
      return push(std::move(answer));
    }
    for (Json& call : calls) {
      answer["tool_calls"] = Json::array({std::move(call)});
      push(answer);
      answer = {{"role", "assistant"}, {"content", ""}};
    }
  }

  // Ids as the template takes them, the same for a call and its result.
  std::string rendered_id(const std::string& id) {
    if (traits_->any_ids) return id;
    const auto [at, added] = ids_.try_emplace(id);
    if (added) at->second = fmt::format("call{:05}", ids_.size() % 100'000);
    return at->second;
  }

  Status add_result(Json message) {
    if (native_results()) {
      message["tool_call_id"] = rendered_id(text_member(message, "tool_call_id"));
      insert_result(std::move(message));
      return Done{};
    }
    const std::string name = text_member(message, "name");
    const std::string text = "<tool_response>\n" + (name.empty() ? "" : name + ": ") +
                             message["content"].get<std::string>() + "\n</tool_response>";
    if (results_) {
      append_text(chat_->messages.back(), text);
      return Done{};
    }
    push(Json{{"role", "user"}, {"content", text}});
    results_ = true;
    return Done{};
  }

  // Behind its call, where calls of one answer were parted; else at the end.
  void insert_result(Json message) {
    Json& messages = chat_->messages;
    for (size_t i = messages.size(); i-- > 0 && !traits_->several_calls;) {
      const bool other = messages[i]["role"] != "assistant" && messages[i]["role"] != "tool";
      if (other) break;
      if (!messages[i].contains("tool_calls") || messages[i]["tool_calls"][0]["id"] != message["tool_call_id"])
        continue;
      messages.insert(messages.begin() + static_cast<std::ptrdiff_t>(i) + 1, std::move(message));
      return;
    }
    push(std::move(message));
  }

  const ChatFormat* format_;
  const TemplateTraits* traits_;
  PreparedChat* chat_;
  bool results_ = false;  // the last message holds results
  std::unordered_map<std::string, std::string> ids_;
};

}  // namespace

Result<PreparedChat> prepare_chat(const Json& messages, const Json& tools, const ChatFormat& format,
                                  const TemplateTraits& traits) {
  if (!messages.is_array() || messages.empty()) return Error{"messages: must be a list that is not empty"};
  PreparedChat chat;
  chat.messages = Json::array();
  TERRACE_CHECK(prepare_tools(tools, chat));
  Preparer preparer(format, traits, chat);
  for (size_t i = 0; i < messages.size(); ++i) {
    TERRACE_CHECK(preparer.add(messages[i], fmt::format("messages[{}]", i)));
  }
  preparer.finish();
  return chat;
}

}  // namespace terrace::text
