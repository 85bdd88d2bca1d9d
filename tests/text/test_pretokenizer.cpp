#include <gtest/gtest.h>

#include <random>

#include "text/pretokenizer.h"
#include "text/unicode.h"

namespace terrace::text {
namespace {

std::vector<std::string> words(const PreTokenizer& splitter, std::string_view text) {
  std::vector<std::string> out;
  size_t begin = 0;
  for (const size_t end : splitter.split(text)) {
    out.emplace_back(text.substr(begin, end - begin));
    begin = end;
  }
  EXPECT_EQ(begin, text.size());
  return out;
}

std::unique_ptr<const PreTokenizer> make(std::string_view name,
                                         PreTokenizer::Engine engine = PreTokenizer::Engine::fastest) {
  auto splitter = PreTokenizer::create(name, engine);
  EXPECT_TRUE(splitter.ok()) << (splitter.ok() ? "" : splitter.error().message);
  return splitter ? *std::move(splitter) : nullptr;
}

// Pieces that meet in every order: what expressions differ in, and what they could get wrong.
const std::vector<std::string> alphabet = {" ",
                                           "  ",
                                           "\n",
                                           "\r",
                                           "\r\n",
                                           "\t",
                                           "a",
                                           "B",
                                           "xyz",
                                           "s",
                                           "'s",
                                           "'S",
                                           "'ll",
                                           "'LL",
                                           "'rE",
                                           "'\u017F",
                                           "'",
                                           "1",
                                           "23",
                                           "4567",
                                           ".",
                                           ",",
                                           "!?",
                                           "_",
                                           "-",
                                           "/",
                                           "\u00A0",
                                           "\u3000",
                                           "\u180E",
                                           "\u0085",
                                           "\u2028",
                                           "\u0301",
                                           "e\u0301",
                                           "\u0661",
                                           "\u00BD",
                                           "\u65E5\u672C",
                                           "\u304B\u306A",
                                           "\uD55C",
                                           "\U0001F600",
                                           "\u00E9",
                                           "\u00C9",
                                           "\u01C5",
                                           "\u02B0",
                                           "\u093F",
                                           "\u200D",
                                           "$",
                                           "<",
                                           "\u3002"};

std::string random_text(std::mt19937& random, size_t pieces) {
  std::string text;
  for (size_t i = 0; i < pieces; ++i) text += alphabet[random() % alphabet.size()];
  return text;
}

TEST(PreTokenizer, ScannersSplitAsTheirExpressions) {
  std::mt19937 random(7);
  for (const std::string name : {"gpt-2", "smollm", "llama-bpe", "qwen2", "qwen35", "falcon", "default"}) {
    SCOPED_TRACE(name);
    const auto scanner = make(name);
    const auto pattern = make(name, PreTokenizer::Engine::patterns);
    ASSERT_TRUE(scanner && pattern);
    for (int i = 0; i < 4000; ++i) {
      const std::string text = random_text(random, 1 + random() % 12);
      ASSERT_EQ(words(*scanner, text), words(*pattern, text)) << text;
    }
  }
}

TEST(PreTokenizer, EveryKnownNameSplitsAnyText) {
  std::mt19937 random(11);
  for (const std::string_view name : {"default",      "gpt-2",
                                      "llama-bpe",    "llama3",
                                      "dbrx",         "qwen2",
                                      "stablelm2",    "qwen35",
                                      "smollm",       "refact",
                                      "starcoder",    "command-r",
                                      "gpt-4o",       "granite-embed-multi-97m",
                                      "tekken",       "falcon",
                                      "deepseek-llm", "deepseek-coder",
                                      "deepseek-v3",  "spark2_5",
                                      "youtu",        "bloom",
                                      "viking",       "jais",
                                      "jais-2",       "bailingmoe",
                                      "seed-coder",   "ufakzeka",
                                      "exaone-moe",   "minicpm5",
                                      "kimi-k2",      "laguna",
                                      "afmoe",        "superbpe",
                                      "tiny_aya",     "chameleon",
                                      "lfm2",         "olmo",
                                      "mpt",          "glm4",
                                      "minerva-7b",   "hunyuan",
                                      "poro-chat"}) {
    SCOPED_TRACE(name);
    const auto splitter = make(name);
    ASSERT_TRUE(splitter);
    for (int i = 0; i < 100; ++i) words(*splitter, random_text(random, 40));
    for (const char* unit : {"a", "A", " ", "7", "\n", ".", "\u3042"}) {
      std::string text;
      for (int i = 0; i < 100'000; ++i) text += unit;
      words(*splitter, text);
    }
  }
}

TEST(PreTokenizer, WordsOfWellKnownExpressions) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(words(*make("llama-bpe"), "I'VE 12345  new\n\n  lines"),
            (Words{"I", "'VE", " ", "123", "45", " ", " new", "\n\n", " ", " lines"}));
  EXPECT_EQ(words(*make("smollm"), "x 42"), (Words{"x", " ", "4", "2"}));
  EXPECT_EQ(words(*make("gpt-4o"), "camelCase SCREAMINGCase don't"),
            (Words{"camel", "Case", " SCREAMINGCase", " don't"}));
  EXPECT_EQ(words(*make("superbpe"), "a1234567b"), (Words{"a", "1", "234", "567", "b"}));
  EXPECT_EQ(words(*make("qwen35"), "e\u0301a"), (Words{"e\u0301a"}));
}

TEST(PreTokenizer, UnknownNameIsNamed) {
  const auto splitter = PreTokenizer::create("no-such-words");
  ASSERT_FALSE(splitter.ok());
  EXPECT_NE(splitter.error().message.find("no-such-words"), std::string::npos);
}

TEST(Unicode, CharactersThatNeedNoNfcStandAlone) {
  for (uint32_t c = 0x80; c < 0x110000; ++c) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    if (c < 0x800) {
      text = {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
    } else if (c < 0x10000) {
      text = {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 0x3F)),
              static_cast<char>(0x80 | (c & 0x3F))};
    } else {
      text = {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 0x3F)),
              static_cast<char>(0x80 | (c >> 6 & 0x3F)), static_cast<char>(0x80 | (c & 0x3F))};
    }
    ASSERT_EQ(utf8_decode(text), c);
    if (may_need_nfc(text)) continue;
    for (const char* before : {"", "a", "\u304B", "\u1100", "\uAC00", "\u0915"})
      ASSERT_EQ(nfc(before + text), before + text) << std::hex << c;
  }
  EXPECT_EQ(nfc("e\u0301"), "\u00E9");
}

}  // namespace
}  // namespace terrace::text
