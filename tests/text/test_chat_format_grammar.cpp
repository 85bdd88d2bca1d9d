// What the grammar of tool calls allows, the parser understands.
#include <gtest/gtest.h>

#include <random>

#include "support/files.h"
#include "text/chat_format/call_writer.h"
#include "text/chat_format/tool_grammar.h"
#include "text/chat_format_samples.h"
#include "text/grammar_matching.h"

namespace terrace::text {
namespace {

Json grammar_tools() {
  return Json::parse(R"([
    {"type": "function", "function": {"name": "get_weather", "description": "W", "parameters": {"type": "object",
      "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 0, "maximum": 99},
        "unit": {"enum": ["c", "f"]}, "exact": {"type": "boolean"}}, "required": ["city", "unit"],
      "additionalProperties": false}}},
    {"type": "function", "function": {"name": "ping", "description": "P", "parameters": {"type": "object",
      "properties": {}, "additionalProperties": false}}}])");
}

Grammar grammar_of(const ChatFormat& format, const ToolChoice& choice, std::string_view prompt = "") {
  auto grammar = tool_grammar(format, grammar_tools(), choice, prompt);
  EXPECT_TRUE(grammar) << format.name << ": " << (grammar ? "" : grammar.error().message);
  return *grammar;
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const auto& [name, source] : chat_output_file()["formats"].items()) names.push_back(name);
  return names;
}

// An answer as the format's own writer has it.
std::string written(const ChatFormat& format, const Json& calls) {
  std::string text = write_calls(format.tools, calls);
  constexpr std::string_view ended = "<|end|><|start|>assistant";
  return format.harmony() && text.starts_with(ended) ? text.substr(ended.size()) : text;
}

const Json kCall = Json::parse(R"({"name": "get_weather", "arguments": {"city": "Oslo", "days": 3, "unit": "c"}})");
const Json kPing = Json::parse(R"({"name": "ping", "arguments": {}})");

TEST(ToolGrammar, AllowsWhatTheWriterWrites) {
  for (const std::string& name : format_names()) {
    const ChatFormat format = format_named(name);
    for (const bool required : {false, true}) {
      const Grammar grammar = grammar_of(format, {required, "", true});
      const std::string text = written(format, Json::array({kCall}));
      EXPECT_TRUE(matches(grammar, text)) << name << ": " << text;
      if (!format.harmony()) {
        const std::string two = written(format, Json::array({kCall, kPing}));
        EXPECT_TRUE(matches(grammar, two)) << name << ": " << two;
        EXPECT_FALSE(matches(grammar_of(format, {required, "", false}), two)) << name << ": " << two;
      }
      EXPECT_EQ(matches(grammar, "Just text."), !required) << name;
    }
  }
}

TEST(ToolGrammar, HoldsOnceACallHasBegun) {
  Json wrong = kCall;
  wrong["arguments"]["unit"] = "kelvin";
  Json missing = kCall;
  missing["arguments"].erase("city");
  Json unknown = kCall;
  unknown["name"] = "no_such";
  for (const std::string& name : format_names()) {
    const ChatFormat format = format_named(name);
    for (const Json& call : {wrong, missing, unknown}) {
      const std::string text = written(format, Json::array({call}));
      EXPECT_FALSE(matches(grammar_of(format, {true, "", true}), text)) << name << ": " << text;
      if (format.tools.bare) continue;  // an answer in JSON is free as long as it is no call
      EXPECT_FALSE(matches(grammar_of(format, {}), text)) << name << ": " << text;
    }
    const Grammar named = grammar_of(format, {true, "ping", true});
    EXPECT_TRUE(matches(named, written(format, Json::array({kPing}))));
    EXPECT_FALSE(matches(named, written(format, Json::array({kCall}))));
  }
}

TEST(ToolGrammar, AnAnswerInJsonIsNoCall) {
  const Grammar grammar = grammar_of(format_named("llama"), {});
  EXPECT_TRUE(matches(grammar, R"({"name": "Bob", "age": 3})"));
  EXPECT_FALSE(matches(grammar, R"({"name": "get_weather", "parameters": {"town": "Oslo"}})"));
  EXPECT_TRUE(matches(grammar, R"(<|python_tag|>{"name": "ping", "parameters": {}})"));
  EXPECT_FALSE(matches(grammar, "<|python_tag|>print(1)"));
}

TEST(ToolGrammar, ReasoningComesFirst) {
  for (const std::string& name : format_names()) {
    const ChatFormat format = format_named(name);
    if (format.reasoning.opens.empty() || format.harmony()) continue;
    const std::string rest = "\nHm" + reasoning_end(format) + written(format, Json::array({kCall}));
    EXPECT_TRUE(matches(grammar_of(format, {true, "", true}), format.reasoning.opens[0] + rest)) << name;
    EXPECT_TRUE(matches(grammar_of(format, {true, "", true}, format.reasoning.opens[0] + "\n"), rest)) << name;
    EXPECT_TRUE(matches(grammar_of(format, {false, "", true}, format.reasoning.opens[0] + "\n"), rest)) << name;
    EXPECT_TRUE(matches(grammar_of(format, {}), format.reasoning.opens[0] + rest)) << name;
  }
}

// Answers written at random as the grammar allows are calls, and nothing else comes out of them.
TEST(ToolGrammar, TheParserUnderstandsAllItAllows) {
  std::mt19937 random(7);
  int finished = 0;
  for (const std::string& name : format_names()) {
    const ChatFormat format = format_named(name);
    const Grammar grammar = grammar_of(format, {true, "", true});
    const auto compiled = std::make_shared<CompiledGrammar>(grammar, byte_vocabulary());
    for (int run = 0; run < 40; ++run) {
      Constraint place(compiled);
      std::string text;
      while (text.size() < 600 && !(place.can_end() && (place.must_end() || random() % 4 == 0))) {
        std::vector<int> allowed;
        std::vector<int> plain;
        for (int byte = 0; byte < 128; ++byte) {
          if (!place.allows(byte)) continue;
          allowed.push_back(byte);
          if (byte == '"' || byte == '<' || byte == '/') plain.push_back(byte);
        }
        if (allowed.empty()) break;
        const std::vector<int>& from = plain.empty() || random() % 2 == 0 ? allowed : plain;
        const int byte = from[random() % from.size()];
        ASSERT_TRUE(place.accept(byte));
        text += static_cast<char>(byte);
      }
      if (!place.can_end()) continue;
      ++finished;
      OutputOptions options;
      options.tools = grammar_tools();
      options.prompt = format.harmony() ? "<|start|>assistant" : "";
      const ParsedOutput output = parse_output(format, options, text);
      EXPECT_GE(output.calls.size(), 1U) << name << ": " << text;
      EXPECT_EQ(output.content, "") << name << ": " << text;
      for (const ParsedOutput::Call& call : output.calls) {
        EXPECT_TRUE(call.complete) << name << ": " << text;
        EXPECT_TRUE(call.name == "ping" || call.name == "get_weather") << name << ": " << text;
        const Json arguments = Json::parse(call.arguments, nullptr, false);
        EXPECT_TRUE(call.name == "ping" || (arguments.contains("city") && arguments.contains("unit"))) << text;
      }
    }
  }
  EXPECT_GE(finished, 100);
}

TEST(ToolGrammar, WhatCannotBeChosenIsNamed) {
  const ChatFormat format = format_named("hermes");
  const auto none = tool_grammar(format, nullptr, {true, "", true});
  ASSERT_FALSE(none);
  const auto unknown = tool_grammar(format, grammar_tools(), {true, "no_such", true});
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("no_such"), std::string::npos);
  Json bad = grammar_tools();
  bad[0]["function"]["parameters"]["properties"]["days"] = Json::parse(R"({"type": "string", "pattern": "("})");
  const auto pattern = tool_grammar(format, bad, {});
  ASSERT_FALSE(pattern);
  EXPECT_NE(pattern.error().message.find("get_weather"), std::string::npos) << pattern.error().message;
}

// Agents bring tools with schemas of all kinds, whose models may not keep to them anyway.
TEST(ToolGrammar, WhatIsNotStrictMayBeRelaxed) {
  const ChatFormat format = format_named("hermes");
  for (const char* days : {R"({"type": "string", "pattern": "("})", R"({"type": "string", "maxLength": 524288})",
                           R"({"type": "array", "uniqueItems": true})"}) {
    Json tools = grammar_tools();
    tools[0]["function"]["parameters"]["properties"]["days"] = Json::parse(days);
    EXPECT_FALSE(tool_grammar(format, tools, {true, "", true}));
    Json strict = tools;
    strict[0]["function"]["strict"] = true;
    const auto relaxed = relax_tools(format, tools);
    ASSERT_EQ(relaxed.size(), 1u);
    EXPECT_NE(relaxed[0].find("get_weather"), std::string::npos);
    const Grammar grammar = testing::take(tool_grammar(format, tools, {true, "", true}));
    EXPECT_TRUE(matches(grammar, R"(<tool_call>{"name": "get_weather", "arguments": {"days": [1, 1]}}</tool_call>)"));
    EXPECT_FALSE(matches(grammar, R"(<tool_call>{"name": "get_weather", "arguments": 5}</tool_call>)"));
    const Json before = strict;
    EXPECT_TRUE(relax_tools(format, strict).empty());
    EXPECT_EQ(strict, before);
  }
}

}  // namespace
}  // namespace terrace::text
