// Requests as templates take them, and answers through a template and the parser and back.
#include <gtest/gtest.h>

#include <filesystem>

#include "format/gguf.h"
#include "text/chat_format/messages.h"
#include "text/chat_format_samples.h"
#include "text/chat_templates.h"

namespace terrace::text {
namespace {

struct Model {
  std::string name;
  std::string source;
  ChatTemplate chat;
  ChatFormat format;
  TemplateTraits traits;
};

Model model_of(const std::string& name, const std::string& source) {
  auto chat = ChatTemplate::parse(source);
  EXPECT_TRUE(chat) << name << ": " << (chat ? "" : chat.error().message);
  ChatStyle style = chat_style(*chat, source);
  return {name, source, std::move(*chat), std::move(style.format), style.traits};
}

std::vector<Model> sample_models() {
  std::vector<Model> models;
  for (const SampleTemplate& one : sample_templates()) models.push_back(model_of(one.name, one.source));
  return models;
}

std::vector<Model> fixture_models() {
  std::vector<Model> models;
  for (const auto& folder : std::filesystem::directory_iterator(std::string(TERRACE_TEST_DATA) + "/fixtures")) {
    const auto path = folder.path() / "model-f32.gguf";
    if (!std::filesystem::exists(path)) continue;
    const auto model = format::GgufFile::open(path.string());
    const auto source =
        model ? model->metadata().string("tokenizer.chat_template") : Result<std::string>(model.error());
    EXPECT_TRUE(source) << path;
    if (source) models.push_back(model_of(folder.path().filename().string(), *source));
  }
  return models;
}

std::vector<Model> all_models() {
  std::vector<Model> models = sample_models();
  for (Model& model : fixture_models()) models.push_back(std::move(model));
  return models;
}

Result<std::string> render(const Model& model, const Json& messages, const Json& tools, bool prompt = false) {
  auto chat = prepare_chat(messages, tools, model.format, model.traits);
  if (!chat) return chat.error();
  ChatInput input;
  input.messages = chat->messages;
  if (chat->pass_tools) input.tools = chat->tools;
  input.add_generation_prompt = prompt;
  return model.chat.render(input);
}

Json user() { return {{"role", "user"}, {"content", "Hello"}}; }
Json call(const char* name, const std::string& arguments, const char* id) {
  return {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
}

// The last answer in a rendered chat.
std::string last_answer(const SampleTemplate& sample, const std::string& rendered) {
  const size_t begin = rendered.rfind(sample.answer_begin);
  if (begin == std::string::npos) return "";
  std::string answer = rendered.substr(begin + sample.answer_begin.size());
  if (answer.ends_with(sample.answer_end)) answer.resize(answer.size() - sample.answer_end.size());
  return answer;
}

TEST(ChatFormat, IsRecognised) {
  for (const SampleTemplate& sample : sample_templates()) {
    EXPECT_EQ(recognize_format(sample.source).name, sample.format) << sample.name;
  }
}

TEST(ChatFormat, AnUnknownFormGetsTheGenericOne) {
  std::string source = sample_templates()[0].source;
  const std::string call = "'<tool_call>\\n{\"name\": \"'";
  ASSERT_NE(source.find(call), std::string::npos);
  source.replace(source.find(call), call.size(), "'<tool_call>call '");
  EXPECT_TRUE(recognize_format(source).native_tools);
  const Model model = model_of("unknown", source);
  EXPECT_FALSE(model.format.native_tools);
  EXPECT_EQ(model.format.name, "<think> + generic hermes-json");
}

TEST(ChatFormat, CallsComeBackFromTheirTemplate) {
  const Json first =
      Json::parse(R"({"city": "Kyōto", "days": 3, "metric": true, "tags": [{"a": [1, 2.5]}], "where": {"x": {}}})");
  const Json second = Json::object();
  for (const SampleTemplate& sample : sample_templates()) {
    const Model model = model_of(sample.name, sample.source);
    const Json answer = {{"role", "assistant"},
                         {"content", nullptr},
                         {"tool_calls", {call("get_weather", first.dump(), "call_1"), call("ping", "{}", "call_2")}}};
    const auto rendered = render(model, Json::array({user(), answer}), sample_tools());
    ASSERT_TRUE(rendered) << sample.name << ": " << rendered.error().message;
    OutputOptions options;
    options.tools = sample_tools();
    std::string text = last_answer(sample, *rendered);
    ParsedOutput output = parse_output(model.format, options, text);
    if (model.traits.calls && !model.traits.several_calls && !model.format.harmony()) {
      ASSERT_EQ(output.calls.size(), 1U) << sample.name << ": " << *rendered;
      EXPECT_EQ(output.calls[0].name, "ping");
      continue;
    }
    ASSERT_EQ(output.calls.size(), 2U) << sample.name << ": " << *rendered;
    EXPECT_TRUE(output.calls[0].complete && output.calls[1].complete) << sample.name;
    EXPECT_EQ(output.calls[0].name, "get_weather");
    EXPECT_EQ(output.calls[1].name, "ping");
    // Some templates write the members in order of their names.
    EXPECT_EQ(nlohmann::json::parse(output.calls[0].arguments), nlohmann::json(first)) << sample.name << ": " << text;
    EXPECT_EQ(Json::parse(output.calls[1].arguments), second);
    EXPECT_EQ(output.content, "") << sample.name << ": " << *rendered;
  }
}

// The fixtures' templates know nothing of calls.
TEST(ChatFormat, CallsComeBackFromTheFixtures) {
  const Json answer = {{"role", "assistant"},
                       {"content", "I look."},
                       {"tool_calls", {call("get_weather", R"({"city": "Oslo"})", "1"), call("ping", "{}", "2")}}};
  for (const Model& model : fixture_models()) {
    const auto before = render(model, Json::array({user()}), sample_tools());
    const auto after = render(model, Json::array({user(), answer}), sample_tools());
    ASSERT_TRUE(before && after) << model.name;
    ASSERT_TRUE(after->starts_with(*before)) << *after;
    const ParsedOutput output = parse_output(model.format, {}, std::string_view(*after).substr(before->size()));
    ASSERT_EQ(output.calls.size(), 2U) << model.name << ": " << *after;
    EXPECT_EQ(output.calls[0].arguments, R"({"city":"Oslo"})") << model.name;
    EXPECT_EQ(output.calls[1].name, "ping") << model.name;
    EXPECT_NE(output.content.find("I look."), std::string::npos) << model.name << ": " << *after;
  }
}

TEST(ChatFormat, TheVocabularyTellsOfReasoning) {
  const std::vector<std::pair<std::string, std::string>> names = {{"qwen3", "<think> + generic hermes-json"},
                                                                  {"gemma4", "gemma-thought + generic hermes-json"},
                                                                  {"llama", "no reasoning + generic hermes-json"},
                                                                  {"gptoss", "harmony"}};
  for (const auto& [fixture, name] : names) {
    const auto model =
        format::GgufFile::open(std::string(TERRACE_TEST_DATA) + "/fixtures/" + fixture + "/model-f32.gguf");
    ASSERT_TRUE(model);
    auto vocabulary = read_vocabulary(model->metadata());
    ASSERT_TRUE(vocabulary);
    const auto tokenizer = Tokenizer::create(std::move(*vocabulary));
    ASSERT_TRUE(tokenizer);
    EXPECT_EQ(recognize_format(*model->metadata().string("tokenizer.chat_template"), tokenizer->get()).name, name);
  }
}

TEST(ChatFormat, ReasoningComesBackFromItsTemplate) {
  for (const SampleTemplate& sample : sample_templates()) {
    if (!sample.reasoning) continue;
    const Model model = model_of(sample.name, sample.source);
    const Json answer = {{"role", "assistant"}, {"content", "Four."}, {"reasoning_content", "Two\nand two."}};
    const auto rendered = render(model, Json::array({user(), answer}), nullptr);
    ASSERT_TRUE(rendered) << sample.name << ": " << rendered.error().message;
    const ParsedOutput output = parse_output(model.format, {}, last_answer(sample, *rendered));
    EXPECT_EQ(output.reasoning, "Two\nand two.") << sample.name << ": " << *rendered;
    EXPECT_EQ(output.content, "Four.") << sample.name << ": " << *rendered;
  }
}

TEST(ChatFormat, BudgetEndsReasoning) {
  for (const SampleTemplate& sample : sample_templates()) {
    const ChatFormat format = recognize_format(sample.source);
    if (format.reasoning.opens.empty()) {
      EXPECT_EQ(reasoning_end(format), "");
      continue;
    }
    const ParsedOutput output =
        parse_output(format, {}, format.reasoning.opens[0] + "\nHm" + reasoning_end(format) + "Yes");
    EXPECT_EQ(output.reasoning, format.harmony() ? "\nHm" : "Hm") << sample.name;
    EXPECT_EQ(output.content, "Yes") << sample.name;
  }
}

TEST(ChatMessages, AHistoryRendersWithEveryTemplate) {
  const Json history = Json::parse(R"([
    {"role": "developer", "content": [{"type": "text", "text": "Be brief"}, {"type": "text", "text": "."}]},
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "Weather?"},
    {"role": "assistant", "content": null, "tool_calls": [
      {"id": "call_abcdefghijk", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Oslo\", \"days\": [Tru"}},
      {"id": "call_lmnopqrstuv", "type": "function", "function": {"name": "ping", "arguments": ""}}]},
    {"role": "tool", "tool_call_id": "call_abcdefghijk", "name": "get_weather", "content": [{"type": "text", "text": "Rain here"}]},
    {"role": "tool", "tool_call_id": "call_lmnopqrstuv", "name": "ping", "content": "pong here"},
    {"role": "assistant", "content": "It rains.", "reasoning_content": "Rain.", "tool_calls": [
      {"id": "call_3", "type": "function", "function": {"name": "ping", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "call_3", "name": "ping", "content": "pong again"},
    {"role": "user", "content": "Thanks"}])");
  for (const Model& model : all_models()) {
    for (const Json& tools : {sample_tools(), Json()}) {
      const auto rendered = render(model, history, tools, true);
      ASSERT_TRUE(rendered) << model.name << ": " << rendered.error().message;
      for (const char* text :
           {"Be brief.", "Be kind.", "Weather?", "Tru", "Rain here", "pong here", "pong again", "Thanks"}) {
        EXPECT_NE(rendered->find(text), std::string::npos) << model.name << " lost " << text << ": " << *rendered;
      }
      EXPECT_TRUE(tools.is_null() || rendered->find("get_weather") != std::string::npos) << model.name;
    }
  }
}

TEST(ChatMessages, ResultsFollowTheirCalls) {
  const Json history = Json::parse(R"([{"role": "user", "content": "x"},
    {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "f", "arguments": "{}"}},
                                         {"id": "b", "function": {"name": "g", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "a", "content": "of f"}, {"role": "tool", "tool_call_id": "b", "content": "of g"}])");
  for (const Model& model : sample_models()) {
    if (model.name != "harmony" && model.name != "llama3") continue;
    const auto chat = prepare_chat(history, nullptr, model.format, model.traits);
    ASSERT_TRUE(chat) << chat.error().message;
    ASSERT_EQ(chat->messages.size(), 5U);
    EXPECT_EQ(chat->messages[1]["tool_calls"][0]["function"]["name"], "f");
    EXPECT_EQ(chat->messages[2]["content"], "of f");
    EXPECT_EQ(chat->messages[3]["tool_calls"][0]["function"]["name"], "g");
    EXPECT_EQ(chat->messages[4]["content"], "of g");
  }
}

TEST(ChatMessages, UnusualToolsAreTaken) {
  const Json tools = Json::parse(R"([{"type": "function", "function": {"name": "a"}},
    {"type": "web_search"}, {"type": "custom", "name": "c"}, {"type": "namespace", "tools": []},
    {"type": "function", "name": "flat", "description": null, "parameters": null, "strict": true},
    {"type": "function", "function": {"name": "b", "parameters": {"properties": {"x": {"type": "string"}}}}}])");
  for (const Model& model : all_models()) {
    const auto chat = prepare_chat(Json::array({user()}), tools, model.format, model.traits);
    ASSERT_TRUE(chat) << chat.error().message;
    EXPECT_EQ(chat->notes.size(), 3U);
    ASSERT_EQ(chat->tools.size(), 3U);
    for (const Json& tool : chat->tools) {
      EXPECT_TRUE(tool["function"]["description"].is_string());
      EXPECT_EQ(tool["function"]["parameters"]["type"], "object");
    }
    const auto rendered = render(model, Json::array({user()}), tools, true);
    EXPECT_TRUE(rendered) << model.name << ": " << rendered.error().message;
  }
}

TEST(ChatMessages, WhatCannotBeTakenIsNamed) {
  const Model model = model_of("hermes", sample_templates()[0].source);
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"({})", "messages: must be a list"},
      {R"([])", "messages: must be a list"},
      {R"([1])", "messages[0]: must be an object"},
      {R"([{"content": "x"}])", "messages[0].role"},
      {R"([{"role": "user", "content": 5}])", "messages[0].content"},
      {R"([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image_url", "image_url": {}}]}])",
       "messages[0].content[1]: content of type image_url is not supported"},
      {R"([{"role": "user", "content": [{"type": "text"}]}])", "messages[0].content[0]"},
      {R"([{"role": "assistant", "tool_calls": {}}])", "messages[0].tool_calls: must be a list"},
      {R"([{"role": "assistant", "tool_calls": [{"id": "x"}]}])", "messages[0].tool_calls[0].function"}};
  for (const auto& [messages, message] : cases) {
    const auto chat = prepare_chat(Json::parse(messages), nullptr, model.format, model.traits);
    ASSERT_FALSE(chat) << messages;
    EXPECT_TRUE(chat.error().message.starts_with(message)) << chat.error().message;
  }
  for (const char* tools :
       {"{}", "[1]", R"([{"type": "function"}])", R"([{"function": {"name": "f", "parameters": 1}}])"}) {
    const auto chat = prepare_chat(Json::array({user()}), Json::parse(tools), model.format, model.traits);
    ASSERT_FALSE(chat) << tools;
    EXPECT_TRUE(chat.error().message.starts_with("tools")) << chat.error().message;
  }
}

TEST(ChatMessages, DeepInputIsRefused) {
  const Model model = model_of("hermes", sample_templates()[0].source);
  Json deep = Json::array();
  for (int i = 0; i < 3000; ++i) deep = Json::array({std::move(deep)});
  Json message = user();
  message["extra"] = deep;
  const auto first = prepare_chat(Json::array({message}), nullptr, model.format, model.traits);
  ASSERT_FALSE(first);
  EXPECT_EQ(first.error().message, "messages[0]: is nested more than 256 deep");
  const Json tool = {{"type", "function"}, {"function", {{"name", "f"}, {"parameters", {{"x", deep}}}}}};
  EXPECT_FALSE(prepare_chat(Json::array({user()}), Json::array({tool}), model.format, model.traits));
}

TEST(ChatMessages, AnExceptionOfTheTemplateIsAnError) {
  const Model model = model_of("xml", sample_templates()[1].source);
  const auto rendered = render(model, Json::array({user(), {{"role", "system"}, {"content", "late"}}}), nullptr);
  ASSERT_FALSE(rendered);
  EXPECT_EQ(rendered.error().message, "a system message must come first");
}

}  // namespace
}  // namespace terrace::text
