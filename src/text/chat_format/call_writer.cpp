#include "text/chat_format/call_writer.h"

#include <fmt/format.h>

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

std::string json_arguments(const Json& arguments) {
  return arguments.is_string() ? arguments.get<std::string>() : dump(arguments);
}

std::string json_call(const ToolFormat& format, const Json& call) {
  return fmt::format("{{\"name\": {}, \"{}\": {}}}", dump(call["name"]), format.arguments_key,
                     json_arguments(call["arguments"]));
}

std::string tag_call(const Json& call) {
  std::string text = fmt::format("<function={}>\n", call["name"].get<std::string>());
  const Json& arguments = call["arguments"];
  if (arguments.is_object()) {
    for (const auto& [key, value] : arguments.items()) {
      text += fmt::format("<parameter={}>\n{}\n</parameter>\n", key, json_arguments(value));
    }
  } else {
    text += json_arguments(arguments) + "\n";
  }
  return text + "</function>";
}

// Python's literals differ from JSON in three words.
std::string python_value(const Json& value) {
  if (value.is_boolean()) return value.get<bool>() ? "True" : "False";
  if (value.is_null()) return "None";
  if (!value.is_structured()) return dump(value);
  std::string text;
  for (const auto& [key, item] : value.items()) {
    if (!text.empty()) text += ", ";
    if (value.is_object()) text += dump(Json(key)) + ": ";
    text += python_value(item);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

std::string pythonic_call(const Json& call) {
  std::string text;
  const Json& arguments = call["arguments"];
  if (arguments.is_object()) {
    for (const auto& [key, value] : arguments.items()) {
      if (!text.empty()) text += ", ";
      text += key + "=" + python_value(value);
    }
  } else {
    text = json_arguments(arguments);
  }
  return call["name"].get<std::string>() + "(" + text + ")";
}

std::string gemma_value(const Json& value) {
  if (value.is_string()) return "<|\"|>" + value.get<std::string>() + "<|\"|>";
  if (!value.is_structured()) return dump(value);
  std::string text;
  for (const auto& [key, item] : value.items()) {
    if (!text.empty()) text += ",";
    if (value.is_object()) text += key + ":";
    text += gemma_value(item);
  }
  return value.is_object() ? "{" + text + "}" : "[" + text + "]";
}

std::string gemma_call(const Json& call) {
  const Json& arguments = call["arguments"];
  const std::string inside = arguments.is_object() ? gemma_value(arguments) : "{" + json_arguments(arguments) + "}";
  return "call:" + call["name"].get<std::string>() + inside;
}

std::string mistral_call(const Json& call) {
  return call["name"].get<std::string>() + "[ARGS]" + json_arguments(call["arguments"]);
}

// The answer that the template has begun is ended, and the call is the next.
std::string harmony_call(const Json& call) {
  return "<|end|><|start|>assistant<|channel|>commentary to=functions." + call["name"].get<std::string>() +
         " <|constrain|>json<|message|>" + json_arguments(call["arguments"]);
}

std::string one_call(const ToolFormat& format, const Json& call) {
  switch (format.syntax) {
    case CallSyntax::tags:
      return tag_call(call);
    case CallSyntax::pythonic:
      return pythonic_call(call);
    case CallSyntax::gemma:
      return gemma_call(call);
    case CallSyntax::mistral:
      return mistral_call(call);
    default:
      return json_call(format, call);
  }
}

std::string listed(const ToolFormat& format, const Json& calls) {
  std::string text;
  for (const Json& call : calls) text += (text.empty() ? "[" : ", ") + one_call(format, call);
  return format.opens.front() + text + "]" + (format.closes.empty() ? "" : format.closes.front());
}

std::string how_to_call(const ChatFormat& format) {
  if (format.harmony()) {
    return "To call a function, write a message to it on the commentary channel (to=functions.NAME) whose text is a "
           "JSON "
           "object of the arguments.";
  }
  return "To call a function, answer with its name and a JSON object of its arguments between <tool_call> tags, once "
         "per "
         "call:\n<tool_call>\n{\"name\": \"NAME\", \"arguments\": {\"PARAMETER\": VALUE}}\n</tool_call>";
}

}  // namespace

std::string write_calls(const ToolFormat& format, const Json& calls) {
  if (calls.empty()) return "";
  if (format.list || format.syntax == CallSyntax::pythonic) return listed(format, calls);
  const bool lines = format.syntax == CallSyntax::json || format.syntax == CallSyntax::tags;
  std::string text;
  if (format.syntax == CallSyntax::harmony) {
    for (const Json& call : calls) text += harmony_call(call);
    return text;
  }
  for (const Json& call : calls) {
    const std::string written = one_call(format, call);
    if (format.bare) {
      text += (text.empty() ? "" : "; ") + written;
      continue;
    }
    if (lines && !text.empty()) text += "\n";
    text += format.opens.front() + (lines ? "\n" : "") + written + (lines ? "\n" : "");
    if (!format.closes.empty()) text += format.closes.front();
  }
  return text;
}

std::string describe_tools(const ChatFormat& format, const Json& tools) {
  std::string text = "You can call these functions:\n";
  for (const Json& tool : tools) text += dump(tool["function"]) + "\n";
  return text + "\n" + how_to_call(format) +
         "\nThe result comes with the next message. Call a function only when it helps to answer.";
}

}  // namespace terrace::text
