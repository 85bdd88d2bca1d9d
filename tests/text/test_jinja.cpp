// Chat templates against what transformers and Python's jinja2 render.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "format/gguf.h"
#include "text/chat_template.h"
#include "text/jinja/template.h"

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

Json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file) << path;
  return Json::parse(file);
}

std::tm fixed_time() {
  std::tm time{};
  time.tm_year = 125;
  time.tm_mon = 2;
  time.tm_mday = 4;
  time.tm_hour = 5;
  time.tm_min = 6;
  time.tm_sec = 7;
  time.tm_wday = 2;
  time.tm_yday = 62;
  return time;
}

std::string special_token(const format::GgufMetadata& metadata, const std::string& key) {
  const auto id = metadata.integer(key);
  const auto tokens = metadata.array("tokenizer.ggml.tokens");
  if (!id || !tokens || *id >= (*tokens)->strings.size()) return "";
  return (*tokens)->strings[*id];
}

TEST(ChatTemplate, RendersEveryFixtureByteForByte) {
  int rendered = 0;
  for (const auto& folder :
       std::filesystem::directory_iterator(std::filesystem::path(TERRACE_TEST_DATA) / "fixtures")) {
    const auto chat_path = folder.path() / "chat.json";
    if (!std::filesystem::exists(chat_path)) continue;
    const auto model = format::GgufFile::open((folder.path() / "model-f32.gguf").string());
    ASSERT_TRUE(model) << model.error().message;
    const auto source = model->metadata().string("tokenizer.chat_template");
    ASSERT_TRUE(source) << folder.path() << ": " << source.error().message;
    const auto parsed = ChatTemplate::parse(*source);
    ASSERT_TRUE(parsed) << folder.path() << ": " << parsed.error().message;
    for (const Json& chat : read_json(chat_path)) {
      ChatInput input;
      input.messages = chat["messages"];
      if (chat.contains("tools")) input.tools = chat["tools"];
      input.add_generation_prompt = chat["add_generation_prompt"].get<bool>();
      input.extra["bos_token"] = special_token(model->metadata(), "tokenizer.ggml.bos_token_id");
      input.extra["eos_token"] = special_token(model->metadata(), "tokenizer.ggml.eos_token_id");
      const auto text = parsed->render(input);
      ASSERT_TRUE(text) << folder.path() << ": " << text.error().message;
      EXPECT_EQ(*text, chat["rendered"].get<std::string>()) << folder.path();
      ++rendered;
    }
  }
  EXPECT_GE(rendered, 100);
}

TEST(Jinja, AgreesWithPython) {
  const Json file = read_json(std::filesystem::path(TERRACE_TEST_DATA) / "jinja_cases.json");
  jinja::RenderOptions options;
  options.clock = fixed_time;
  ASSERT_GE(file["cases"].size(), 300U);
  for (const Json& item : file["cases"]) {
    const auto source = item["template"].get<std::string>();
    const auto parsed = jinja::Template::parse(source);
    const auto text = parsed ? parsed->render(file["contexts"][item["context"].get<size_t>()], options)
                             : Result<std::string>(parsed.error());
    if (item.contains("error")) {
      EXPECT_FALSE(text) << source << "\nshould fail, but gives: " << (text ? *text : "");
    } else {
      EXPECT_TRUE(text) << source << "\n" << (text ? "" : text.error().message);
      if (text) {
        EXPECT_EQ(*text, item["output"].get<std::string>()) << source;
      }
    }
  }
}

std::string error_of(const std::string& source, const Json& context = Json::object(),
                     const jinja::Limits& limits = {}) {
  const auto parsed = jinja::Template::parse(source);
  if (!parsed) return parsed.error().message;
  jinja::RenderOptions options;
  options.limits = limits;
  const auto text = parsed->render(context, options);
  return text ? "no error: " + text->substr(0, 80) : text.error().message;
}

TEST(Jinja, ErrorsNameTheLine) {
  EXPECT_EQ(error_of("a\nb\n{{ missing.x }}"), "template line 3: 'missing' is undefined");
  EXPECT_EQ(error_of("\n{% if x %}\n"), "template line 2: the block is never closed: 'endif' is missing");
  EXPECT_EQ(error_of("{% set a = 1 %}\n\n\n{{ 1 / 0 }}"), "template line 4: division by zero");
  EXPECT_EQ(error_of("\n{{ raise_exception('Say ' ~ 1) }}"), "Say 1");
  for (const char* tag : {"include 'a'", "import 'a' as b", "from 'a' import b", "extends 'a'", "block b"}) {
    EXPECT_NE(error_of("\n{% " + std::string(tag) + " %}").find("template line 2: '"), std::string::npos) << tag;
    EXPECT_NE(error_of("{% " + std::string(tag) + " %}").find("is not supported"), std::string::npos) << tag;
  }
  EXPECT_NE(error_of("{{ [1].append(2) }}").find("not allowed"), std::string::npos);
  EXPECT_NE(error_of("{{ 'a'.encode('utf-8') }}").find("not allowed"), std::string::npos);
  EXPECT_NE(error_of("{{ [1]|random }}").find("'random' is not supported"), std::string::npos);
  EXPECT_NE(error_of("{{ 9223372036854775807 + 1 }}").find("beyond 64 bits"), std::string::npos);
  EXPECT_NE(error_of("{{ 99999999999999999999 }}").find("beyond 64 bits"), std::string::npos);
}

std::string repeated(const std::string& piece, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += piece;
  return text;
}

TEST(Jinja, DepthIsBounded) {
  constexpr size_t kMany = 60'000;
  for (const auto& [open, middle, close] : std::vector<std::array<std::string, 3>>{{"(", "1", ")"},
                                                                                   {"[", "1", "]"},
                                                                                   {"{1:", "1", "}"},
                                                                                   {"-", "1", ""},
                                                                                   {"not ", "1", ""},
                                                                                   {"1 if 1 else ", "1", ""},
                                                                                   {"f(", "1", ")"},
                                                                                   {"a[", "1", "]"},
                                                                                   {"1 + ", "1", ""},
                                                                                   {"1 ** ", "1", ""},
                                                                                   {"", "a", ".b"},
                                                                                   {"", "a", "|upper"},
                                                                                   {"", "a", "()"},
                                                                                   {"1 and ", "1", ""},
                                                                                   {"1 == ", "1", ""},
                                                                                   {"x|f(", "1", ")"},
                                                                                   {"", "a", " is b c"}}) {
    const std::string error = error_of("{{ " + repeated(open, kMany) + middle + repeated(close, kMany) + " }}");
    EXPECT_TRUE(error.starts_with("template line 1: ") || error.starts_with("no error: True")) << open << error;
  }
  for (const char* open :
       {"{% if 1 %}", "{% for x in [1] %}", "{% set x %}", "{% macro m() %}", "{% filter upper %}"}) {
    EXPECT_NE(error_of(repeated(open, kMany)).find("too deep"), std::string::npos) << open;
  }
  EXPECT_NE(error_of("{% if 0 %}" + repeated("{% elif 0 %}", kMany) + "{% endif %}").find("too many branches"),
            std::string::npos);
  EXPECT_NE(error_of("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}").find("too deep"), std::string::npos);
  EXPECT_NE(error_of("{% for x in [1] recursive %}{{ loop([1]) }}{% endfor %}").find("too deep"), std::string::npos);
  EXPECT_NE(error_of("{% set n = namespace(a=1) %}{% for x in range(9999) %}{% set n.a = [n.a] %}{% endfor %}")
                .find("too deep"),
            std::string::npos);
  Json deep = 1;
  for (int i = 0; i < 3000; ++i) deep = Json::array({std::move(deep)});
  EXPECT_NE(error_of("{{ x }}", {{"x", std::move(deep)}}).find("nested too deeply"), std::string::npos);
}

TEST(Jinja, WorkIsBounded) {
  jinja::Limits limits;
  limits.output_bytes = 1 << 20;
  limits.work_bytes = 1 << 24;
  limits.steps = 100'000;
  for (const char* source :
       {"{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "{{ range(100001) }}",
        "{{ 'a' * 9999999999 }}",
        "{{ [1] * 9999999999 }}",
        "{{ 'a'.center(9999999999) }}",
        "{{ 'a'.ljust(9999999999) }}",
        "{{ '1'.zfill(9999999999) }}",
        "{{ '%999999999d' % 1 }}",
        "{{ '{:999999999}'.format(1) }}",
        "{{ '%.999999999f' % 1 }}",
        "{{ 'a'|indent(9999999999, true) }}",
        "{{ 10 ** 99999 }}",
        "{{ 2 ** 2 ** 2 ** 2 ** 2 ** 2 ** 9 }}",
        "{{ [1]|batch(9999999999, 1)|list }}",
        "{{ [1]|slice(9999999999)|list }}",
        "{% set n = namespace(a='xx') %}{% for i in range(99) %}{% set n.a = n.a ~ n.a %}{% endfor %}",
        "{% set n = namespace(a=[1]) %}{% for i in range(99) %}{% set n.a = n.a + n.a %}{% endfor %}",
        "{% set n = namespace(a=[1]) %}{% for i in range(99) %}{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a }}",
        "{% set n = namespace(a=[1]) %}{% for i in range(99) %}{% set n.a = [n.a, n.a] %}{% endfor %}{{ n.a|tojson }}",
        "{% set n = namespace(a=[1], b=[1]) %}{% for i in range(99) %}{% set n.a = [n.a, n.a] %}{% set n.b = [n.b, "
        "n.b] %}{% endfor %}{{ n.a == n.b }}",
        "{{ ('a' * 100000).replace('', 'b' * 100000) }}",
        "{{ ('a' * 1000000)|list|join('b' * 1000000) }}",
        "{{ [1]|tojson(indent=999999999) }}",
        "{% for a in range(99999) %}{{ 'x' * 1000 }}{% endfor %}"}) {
    const std::string error = error_of(source, Json::object(), limits);
    EXPECT_TRUE(error.starts_with("template line 1: ")) << source << ": " << error;
  }
}

TEST(Jinja, StrayBytesPassThrough) {
  const std::string bad = "\xE6\xAD|\xC0\x80|\xED\xA0\x80|\xF4\x90\x80\x80|\xFF";
  Json context{{"x", bad}};
  const auto render = [&](const char* source) {
    const auto parsed = jinja::Template::parse(source);
    EXPECT_TRUE(parsed);
    const auto text = parsed->render(context);
    EXPECT_TRUE(text) << source;
    return text ? *text : std::string();
  };
  EXPECT_EQ(render("{{ x }}"), bad);
  EXPECT_EQ(render("{{ x[:] }}{{ x|upper|lower }}"), bad + bad);
  EXPECT_EQ(render("{{ x[::-1][::-1] }}"), bad);
  EXPECT_EQ(render("{{ x|tojson }}"), "\"" + bad + "\"");
  EXPECT_FALSE(
      render("{{ [x] }}{{ x|title }}{{ x.split('|') }}{{ x|length }}{{ x|wordwrap(2) }}{{ x|urlencode }}").empty());
}

TEST(ChatTemplate, PreparesMessages) {
  ChatInput input;
  input.messages = Json::parse(R"([{"role": "assistant", "content": null, "reasoning": "r", "tool_calls": []}])");
  input.extra["name"] = "Ada";
  const auto text = render_chat(
      "{% for m in messages %}{{ m }}{% endfor %}{{ tools }}{{ documents }}{{ add_generation_prompt }}{{ name }}",
      input);
  ASSERT_TRUE(text) << text.error().message;
  EXPECT_EQ(*text,
            "{'thinking': 'r', 'role': 'assistant', 'reasoning': 'r', 'tool_calls': [], 'reasoning_content': "
            "'r'}NoneNoneTrueAda");
  input.messages = Json::object();
  EXPECT_FALSE(render_chat("", input));
  input.messages = Json::array({1});
  EXPECT_FALSE(render_chat("", input));
}

}  // namespace
}  // namespace terrace::text
