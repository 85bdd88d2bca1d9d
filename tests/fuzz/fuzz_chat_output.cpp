// Any text as an answer in any format: whole and in pieces it is the same, arguments are JSON from the start, calls do
// not overlap, and no mark comes through where marks are read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "text/chat_format/output_parser.h"
#include "text/chat_format/value_reader.h"
#include "text/unicode.h"

namespace {

using namespace terrace::text;
using Kind = OutputDelta::Kind;

constexpr const char* kSources[] = {
    R"({{ tools }} <think></think> <tool_call>{"name": "arguments"}</tool_call>)",
    "{{ tools }} <think></think> <tool_call><function=f><parameter=p>",
    "{{ tools }} <think></think> <|tool_call_start|>",
    "{{ tools }} <think></think> and <response></response> <|tool_call|>",
    "{{ tools }} <|channel>thought <|tool_call>",
    R"({{ tools }} {"name": function name, "parameters": ...} <|python_tag|>)",
    "{{ tools }} [TOOL_CALLS]",
    "{{ tools }} [THINK][/THINK] [TOOL_CALLS] [ARGS]",
    "{{ tools }} <|start|><|channel|><|message|>",
    "",
};
constexpr size_t kFormats = sizeof(kSources) / sizeof(kSources[0]);

void require(bool condition) {
  if (!condition) __builtin_trap();
}

void join(std::vector<OutputDelta>& all, std::vector<OutputDelta> more) {
  for (OutputDelta& delta : more) {
    require(utf8_lossy(delta.text) == delta.text);
    const bool joins = !all.empty() && all.back().kind == delta.kind && delta.kind != Kind::call_begin;
    if (joins)
      all.back().text += delta.text;
    else
      all.push_back(std::move(delta));
  }
}

void check_calls(const std::vector<OutputDelta>& deltas) {
  const OutputDelta* last = nullptr;
  int calls = 0;
  for (const OutputDelta& delta : deltas) {
    const bool in_call = last && (last->kind == Kind::call_begin || last->kind == Kind::call_arguments);
    if (delta.kind == Kind::call_begin) require(delta.call == calls++ && !delta.text.empty());
    if (delta.kind == Kind::call_arguments) {
      require(in_call && delta.call == calls - 1);
      ValueReader reader(ValueSyntax::json, ValueReader::Top::value);
      std::string json;
      for (const char c : delta.text) require(reader.push(c, json) != ValueReader::Step::broken);
    }
    if (delta.kind == Kind::call_end) {
      require(last->kind == Kind::call_arguments && delta.call == calls - 1);
      require(nlohmann::json::parse(last->text, nullptr, false).is_object());
    }
    last = &delta;
  }
}

// Whether taking marks out puts others together; then there is nothing to check.
bool makes_marks(std::string_view text, const std::vector<std::string>& marks, const ReasoningFormat& reasoning) {
  std::vector<std::string> taken = marks;
  for (const auto* list : {&reasoning.opens, &reasoning.closes, &reasoning.dropped}) {
    taken.insert(taken.end(), list->begin(), list->end());
  }
  std::string rest;
  while (!text.empty()) {
    size_t length = 0;
    for (const std::string& mark : taken) {
      if (text.starts_with(mark)) length = std::max(length, mark.size());
    }
    if (length == 0) rest += text.front();
    text.remove_prefix(std::max<size_t>(length, 1));
  }
  return std::ranges::any_of(marks, [&](const std::string& mark) { return rest.find(mark) != std::string::npos; });
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 3) return 0;
  static const auto tools =
      nlohmann::ordered_json::parse(R"([{"type": "function", "function": {"name": "f", "parameters":
    {"type": "object", "properties": {"s": {"type": "string"}, "n": {"type": "number"}, "e": {"type": ["string", "null"]}}}}}])");
  const ChatFormat format = recognize_format(kSources[data[0] % kFormats]);
  OutputOptions options;
  options.tools = tools;
  options.calls_allowed = data[1] % 4 != 0;
  const std::string text = utf8_lossy(std::string_view(reinterpret_cast<const char*>(data + 3), size - 3));

  std::vector<OutputDelta> whole;
  OutputParser parser(format, options);
  join(whole, parser.push(text));
  join(whole, parser.finish());

  std::vector<OutputDelta> pieces;
  OutputParser second(format, options);
  uint32_t random = data[2];
  for (size_t at = 0; at < text.size();) {
    random = random * 1664525U + 1013904223U;
    size_t end = at + 1 + (random >> 24) % (1 + data[1] % 16U);
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    join(pieces, second.push(std::string_view(text).substr(at, end - at)));
    at = end;
  }
  join(pieces, second.finish());
  require(whole == pieces);
  check_calls(whole);

  const ToolFormat& form = format.tools;
  std::vector<std::string> marks = form.opens;
  marks.insert(marks.end(), form.closes.begin(), form.closes.end());
  if (format.harmony())
    marks = {"<|start|>", "<|channel|>", "<|message|>", "<|constrain|>", "<|end|>", "<|call|>", "<|return|>"};
  if ((!options.calls_allowed && !form.control) || makes_marks(text, marks, format.reasoning)) return 0;
  for (const OutputDelta& delta : whole) {
    if (delta.kind != Kind::content) continue;
    for (const std::string& mark : marks) require(delta.text.find(mark) == std::string::npos);
  }
  return 0;
}
