#include "text/chat_format/chat_format.h"

namespace terrace::text {
namespace {

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string_view trim_end(std::string_view text) {
  const size_t last = text.find_last_not_of(" \t\r\n");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

struct NamedReasoning {
  std::string name;
  ReasoningFormat format;
};

NamedReasoning granite_reasoning() {
  ReasoningFormat format;
  format.opens = {"<think>", "Here is my thought process:", "Here's my thought process:"};
  format.closes = {"</think>", "Here is my response:", "Here's my response:"};
  format.dropped = {"<response>", "</response>"};
  return {"granite-think", std::move(format)};
}

NamedReasoning recognize_reasoning(std::string_view source, const Tokenizer* tokenizer) {
  if (contains(source, "<|channel>"))
    return {"gemma-thought", {{"<|channel>thought", "<|channel>"}, {"<channel|>"}, {}}};
  if (contains(source, "<response></response>") || contains(source, "Here is my thought process:")) {
    return granite_reasoning();
  }
  const auto written = [&](std::string_view mark) { return contains(source, mark); };
  const auto known = [&](std::string_view mark) { return tokenizer && tokenizer->find(mark).has_value(); };
  const std::pair<const char*, const char*> pairs[] = {
      {"<think>", "</think>"}, {"<seed:think>", "</seed:think>"}, {"[THINK]", "[/THINK]"}};
  for (const auto& [open, close] : pairs) {
    if (written(close) || (written(open) && known(close))) return {open, {{open}, {close}, {}}};
  }
  for (const auto& [open, close] : pairs) {
    if (known(open) && known(close)) return {open, {{open}, {close}, {}}};
  }
  if (known("<|channel>") && known("<channel|>")) {
    return {"gemma-thought", {{"<|channel>thought", "<|channel>"}, {"<channel|>"}, {}}};
  }
  return {"no reasoning", {}};
}

struct NamedTools {
  std::string name;
  ToolFormat format;
};

ToolFormat marked(CallSyntax syntax, std::string open, std::string close, bool control) {
  ToolFormat format;
  format.syntax = syntax;
  format.opens = {std::move(open)};
  if (!close.empty()) format.closes = {std::move(close)};
  format.control = control;
  return format;
}

NamedTools llama_tools() {
  ToolFormat format = marked(CallSyntax::json, "<|python_tag|>", "", true);
  format.bare = true;
  format.arguments_key = "parameters";
  return {"llama3-json", std::move(format)};
}

NamedTools list_tools(std::string name, std::string open) {
  ToolFormat format = marked(CallSyntax::json, std::move(open), "", true);
  format.list = true;
  return {std::move(name), std::move(format)};
}

// The form that the template itself tells the model about, or an empty name.
NamedTools native_tools(std::string_view source) {
  if (!contains(source, "tools")) return {};
  if (contains(source, "<|tool_call>")) {
    ToolFormat format = marked(CallSyntax::gemma, "<|tool_call>", "<tool_call|>", true);
    format.closes.push_back("<|tool_response>");  // where the model waits for a result
    return {"gemma-call", std::move(format)};
  }
  if (contains(source, "<|tool_call_start|>") || contains(source, "<|tool_list_start|>") ||
      contains(source, "\"List of tools: ")) {
    return {"lfm2-pythonic", marked(CallSyntax::pythonic, "<|tool_call_start|>", "<|tool_call_end|>", true)};
  }
  if (contains(source, "[TOOL_CALLS]")) {
    if (!contains(source, "[ARGS]")) return list_tools("mistral-list", "[TOOL_CALLS]");
    return {"mistral-args", marked(CallSyntax::mistral, "[TOOL_CALLS]", "", true)};
  }
  if (contains(source, "<function=") && contains(source, "<parameter=")) {
    const bool seed = contains(source, "<seed:tool_call>");
    return {"qwen-xml", marked(CallSyntax::tags, seed ? "<seed:tool_call>" : "<tool_call>",
                               seed ? "</seed:tool_call>" : "</tool_call>", false)};
  }
  if (contains(source, "<tool_call>") && contains(source, "arguments") && !contains(source, "<arg_key>")) {
    return {"hermes-json", marked(CallSyntax::json, "<tool_call>", "</tool_call>", false)};
  }
  if (contains(source, "<|tool_call|>")) return list_tools("granite-list", "<|tool_call|>");
  if (contains(source, "{\"name\": function name, \"parameters\"")) return llama_tools();
  return {};
}

ChatFormat harmony_format(std::string_view source) {
  ChatFormat format;
  format.name = "harmony";
  format.reasoning.opens = {"<|channel|>analysis<|message|>"};
  format.reasoning.closes = {"<|end|>"};
  format.tools.syntax = CallSyntax::harmony;
  format.tools.control = true;
  format.native_tools = contains(source, "tools");
  return format;
}

}  // namespace

void use_generic_tools(ChatFormat& format) {
  format.native_tools = false;
  format.tools = marked(CallSyntax::json, "<tool_call>", "</tool_call>", false);
  format.name = format.name.substr(0, format.name.find(" + ")) + " + generic hermes-json";
}

ChatFormat recognize_format(std::string_view chat_template, const Tokenizer* tokenizer) {
  if (contains(chat_template, "<|channel|>") && contains(chat_template, "<|message|>")) {
    return harmony_format(chat_template);
  }
  ChatFormat format;
  NamedReasoning reasoning = recognize_reasoning(chat_template, tokenizer);
  NamedTools tools = native_tools(chat_template);
  format.native_tools = !tools.name.empty();
  format.name = reasoning.name + " + " + tools.name;
  format.reasoning = std::move(reasoning.format);
  format.tools = std::move(tools.format);
  if (!format.native_tools) use_generic_tools(format);
  const bool token = tokenizer && tokenizer->find(format.tools.opens.front()).has_value();
  format.tools.token = format.tools.control || token;
  return format;
}

std::string reasoning_end(const ChatFormat& format, bool content_follows) {
  if (format.harmony())
    return std::string("<|end|><|start|>assistant") + (content_follows ? "<|channel|>final<|message|>" : "");
  if (format.reasoning.closes.empty()) return "";
  return "\n" + format.reasoning.closes.front() + "\n\n";
}

bool begins_in_reasoning(const ChatFormat& format, std::string_view prompt) {
  const std::string_view end = trim_end(prompt);
  for (const std::string& open : format.reasoning.opens) {
    if (end.ends_with(open)) return true;
  }
  return false;
}

}  // namespace terrace::text
