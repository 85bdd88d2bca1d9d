// tests/data/chat_output.json: texts that models of each format write, whole and damaged, and what is in them.
#pragma once

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "text/chat_format/output_parser.h"

namespace terrace::text {

using Json = nlohmann::ordered_json;

inline const Json& chat_output_file() {
  static const Json file = [] {
    std::ifstream stream(std::string(TERRACE_TEST_DATA) + "/chat_output.json");
    return Json::parse(stream);
  }();
  return file;
}

inline ChatFormat format_named(const std::string& name) {
  return recognize_format(chat_output_file()["formats"][name].get<std::string>());
}

inline Json sample_tools() {
  return Json::parse(R"([
    {"type": "function", "function": {"name": "get_weather", "description": "Weather", "parameters": {"type": "object",
      "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "metric": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "object"}}, "where": {"type": "object"},
        "note": {"type": ["string", "null"]}, "ratio": {"anyOf": [{"type": "number"}, {"type": "null"}]}}}}},
    {"type": "function", "function": {"name": "ping", "description": "Ping", "parameters": {"type": "object",
      "properties": {}}}}])");
}

/// What the deltas of a text are together, one line each, so that a difference can be read.
inline std::vector<std::string> joined(const std::vector<OutputDelta>& deltas) {
  std::vector<std::string> lines;
  const OutputDelta* last = nullptr;
  for (const OutputDelta& delta : deltas) {
    constexpr const char* names[] = {"reasoning: ", "content: ", "call: ", "arguments: ", "end"};
    const bool joins = last && last->kind == delta.kind && delta.kind != OutputDelta::Kind::call_begin;
    if (joins)
      lines.back() += delta.text;
    else
      lines.push_back(names[static_cast<int>(delta.kind)] + delta.text);
    last = &delta;
  }
  return lines;
}

}  // namespace terrace::text
