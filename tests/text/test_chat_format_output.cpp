// Answers parsed: what is in them, however they are cut.
#include <gtest/gtest.h>

#include <chrono>

#include "text/chat_format/value_reader.h"
#include "text/chat_format_samples.h"
#include "text/unicode.h"

namespace terrace::text {
namespace {

struct Case {
  ChatFormat format;
  OutputOptions options;
  std::string text;
  std::string prompt;
  std::string name;
};

std::vector<Case> cases() {
  std::vector<Case> list;
  for (const Json& sample : chat_output_file()["samples"]) {
    Case one;
    one.format = format_named(sample["format"]);
    one.options.tools = sample_tools();
    one.options.calls_allowed = sample["calls_allowed"];
    one.text = sample["text"];
    one.prompt = sample["prompt"];
    one.name = sample["format"].get<std::string>() + ": " + sample["name"].get<std::string>() + ": " + one.text;
    list.push_back(std::move(one));
  }
  return list;
}

std::vector<OutputDelta> parse_pieces(Case& one, const std::vector<size_t>& cuts) {
  one.options.prompt = one.prompt;
  OutputParser parser(one.format, one.options);
  std::vector<OutputDelta> deltas;
  const auto take = [&](std::vector<OutputDelta> more) { deltas.insert(deltas.end(), more.begin(), more.end()); };
  size_t begin = 0;
  for (const size_t cut : cuts) {
    take(parser.push(std::string_view(one.text).substr(begin, cut - begin)));
    begin = cut;
  }
  take(parser.push(std::string_view(one.text).substr(begin)));
  take(parser.finish());
  return deltas;
}

TEST(ChatOutput, FindsWhatIsInTheSamples) {
  size_t index = 0;
  for (Case& one : cases()) {
    const Json& sample = chat_output_file()["samples"][index++];
    one.options.prompt = one.prompt;
    const ParsedOutput output = parse_output(one.format, one.options, one.text);
    EXPECT_EQ(output.reasoning, sample["reasoning"].get<std::string>()) << one.name;
    EXPECT_EQ(output.content, sample["content"].get<std::string>()) << one.name;
    ASSERT_EQ(output.calls.size(), sample["calls"].size()) << one.name;
    for (size_t i = 0; i < output.calls.size(); ++i) {
      const Json& call = sample["calls"][i];
      EXPECT_EQ(output.calls[i].name, call["name"].get<std::string>()) << one.name;
      EXPECT_EQ(output.calls[i].arguments, call["arguments"].get<std::string>()) << one.name;
      EXPECT_EQ(output.calls[i].complete, call["complete"].get<bool>()) << one.name;
    }
  }
}

TEST(ChatOutput, IsTheSameForEveryCut) {
  for (Case& one : cases()) {
    const auto whole = joined(parse_pieces(one, {}));
    std::vector<size_t> each;
    for (size_t cut = 1; cut < one.text.size(); ++cut) {
      EXPECT_EQ(joined(parse_pieces(one, {cut})), whole) << one.name << " cut at " << cut;
      each.push_back(cut);
    }
    EXPECT_EQ(joined(parse_pieces(one, each)), whole) << one.name << " byte by byte";
  }
}

// The text may stop anywhere: arguments are beginnings of JSON, and whole objects where the call has ended.
TEST(ChatOutput, ArgumentsAreBeginningsOfJson) {
  for (Case& one : cases()) {
    const std::string text = one.text;
    for (size_t length = 0; length <= text.size(); ++length) {
      one.text = text.substr(0, length);
      std::string arguments;
      for (const OutputDelta& delta : parse_pieces(one, {})) {
        if (delta.kind == OutputDelta::Kind::call_begin) arguments.clear();
        if (delta.kind == OutputDelta::Kind::call_arguments) arguments += delta.text;
        ValueReader reader(ValueSyntax::json, ValueReader::Top::value);
        std::string rewritten;
        for (const char c : arguments) {
          ASSERT_NE(reader.push(c, rewritten), ValueReader::Step::broken) << one.name << ": " << arguments;
        }
        const bool ended = delta.kind == OutputDelta::Kind::call_end;
        EXPECT_TRUE(!ended || Json::parse(arguments, nullptr, false).is_object()) << one.name << ": " << arguments;
      }
    }
  }
}

TEST(ChatOutput, PiecesAreWholeCharacters) {
  for (Case& one : cases()) {
    std::vector<size_t> cuts;
    for (size_t at = 1; at < one.text.size(); ++at) {
      if ((static_cast<unsigned char>(one.text[at]) & 0xC0) != 0x80) cuts.push_back(at);
    }
    for (const OutputDelta& delta : parse_pieces(one, cuts)) {
      EXPECT_EQ(utf8_lossy(delta.text), delta.text) << one.name;
    }
  }
}

TEST(ChatOutput, NameComesFirstAndStringsStream) {
  const ChatFormat format = format_named("xml");
  OutputOptions options;
  options.tools = sample_tools();
  OutputParser parser(format, options);
  EXPECT_TRUE(parser.push("<tool_call>\n<function=get_weather>\n<parameter=city>\n").empty());
  EXPECT_EQ(joined(parser.push("Ky")), (std::vector<std::string>{"call: get_weather", R"(arguments: {"city":"Ky)"}));
  EXPECT_EQ(joined(parser.push("o\"to\n</para")), std::vector<std::string>{R"(arguments: o\"to)"});
  EXPECT_EQ(joined(parser.push("meter>")), std::vector<std::string>{"arguments: \""});
}

TEST(ChatOutput, DeepValuesBreakTheCall) {
  const std::string deep(100'000, '[');
  for (const char* name : {"hermes", "xml", "lfm2", "gemma"}) {
    OutputOptions options;
    options.tools = sample_tools();
    const std::vector<std::pair<std::string, std::string>> texts = {
        {"hermes", R"(<tool_call>{"name": "f", "arguments": {"a": )" + deep},
        {"xml", "<tool_call><function=get_weather><parameter=tags>" + deep + "</parameter></function></tool_call>"},
        {"lfm2", "<|tool_call_start|>[f(a=" + deep},
        {"gemma", "<|tool_call>call:f{a:" + deep}};
    for (const auto& [format, text] : texts) {
      if (format != name) continue;
      const ParsedOutput output = parse_output(format_named(name), options, text);
      EXPECT_GE(output.content.size() + (output.calls.empty() ? 0 : output.calls[0].arguments.size()), deep.size());
    }
  }
}

// Texts that would take quadratic time if a broken block were read again from its second byte.
TEST(ChatOutput, TakesLinearTime) {
  const std::vector<std::pair<std::string, std::string>> repeated = {
      {"xml", "<tool_call>\n<function=get_weather>\n<parameter=days>\n"},
      {"hermes", "<think>\n<tool_call>\n"},
      {"hermes", R"(<tool_call>{"name": "f", "x": ")"},
      {"lfm2", "<|tool_call_start|>[f(a=[{'"},
      {"gemma", "<|tool_call>call:f{a:<|\"|>"},
      {"harmony", "<|start|>assistant to="},
      {"harmony", "<|channel|>"},
      {"hermes", "<tool_call"}};
  for (const auto& [format, text] : repeated) {
    std::string many;
    while (many.size() < 2'000'000) many += text;
    OutputOptions options;
    options.tools = sample_tools();
    const auto begin = std::chrono::steady_clock::now();
    parse_output(format_named(format), options, many);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10)) << format << ": " << text;
  }
}

}  // namespace
}  // namespace terrace::text
