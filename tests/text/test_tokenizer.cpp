#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "small_vocabularies.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"
#include "text/unicode.h"

namespace terrace::text {
namespace {

using Ids = std::vector<int32_t>;
using small::make;

std::string random_bytes(std::mt19937& random, size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() % 3 ? random() % 256 : 'a' + random() % 4);
  return bytes;
}

TEST(Tokenizer, ByteLevelBytesComeBack) {
  const auto tokenizer = make(small::byte_level());
  std::mt19937 random(3);
  for (int i = 0; i < 2000; ++i) {
    const std::string bytes = random_bytes(random, random() % 40);
    ASSERT_EQ(tokenizer->decode(tokenizer->encode(bytes)), bytes);
  }
}

TEST(Tokenizer, HalfACharacterIsTwoBytes) {
  const auto tokenizer = make(small::byte_level());
  const Ids ids = tokenizer->encode("\xE6\xAD");
  ASSERT_EQ(ids.size(), 2u);
  EXPECT_EQ(tokenizer->decode(ids), "\xE6\xAD");
  EXPECT_EQ(make(small::sentencepiece())->decode(make(small::sentencepiece())->encode("\xE6\xAD")), "\xE6\xAD");
}

TEST(Tokenizer, SpecialTokensInText) {
  const auto tokenizer = make(small::byte_level());
  const int32_t control = *tokenizer->find("<end>");
  const int32_t longer = *tokenizer->find("<end>>");
  const int32_t defined = *tokenizer->find("<mark>");
  const int32_t a = *tokenizer->find("a");
  EXPECT_EQ(tokenizer->encode("a<end>a", {.parse_special = true}), (Ids{a, control, a}));
  EXPECT_EQ(tokenizer->encode("a<end>>a", {.parse_special = true}), (Ids{a, longer, a}));
  EXPECT_EQ(tokenizer->encode("a<mark>a"), (Ids{a, defined, a}));
  EXPECT_EQ(tokenizer->encode("<end>").size(), 5u);
  EXPECT_EQ(tokenizer->decode(Ids{a, control, defined}), "a<mark>");
  EXPECT_EQ(tokenizer->decode(Ids{a, control, defined}, true), "a<end><mark>");
  EXPECT_TRUE(tokenizer->is_end_of_generation(control));
  EXPECT_FALSE(tokenizer->is_end_of_generation(a));
}

TEST(Tokenizer, IdsThatAreNoTokensStandForNothing) {
  const auto tokenizer = make(small::byte_level());
  EXPECT_EQ(tokenizer->decode(Ids{-1, 1 << 30, std::numeric_limits<int32_t>::min()}), "");
  EXPECT_EQ(tokenizer->token_bytes(-1), "");
  EXPECT_FALSE(tokenizer->is_control(-1));
  EXPECT_FALSE(tokenizer->is_end_of_generation(-1));
}

TEST(Tokenizer, SpacePrefixAroundSpecialTokens) {
  for (const bool prefix : {true, false}) {
    Vocabulary vocabulary = small::sentencepiece();
    vocabulary.add_space_prefix = prefix;
    const auto tokenizer = make(vocabulary);
    const auto id = [&](const char* text) { return *tokenizer->find(text); };
    const EncodeOptions parse{.parse_special = true};
    const int32_t space = id("\u2581");
    const int32_t end = id("</s>");
    const int32_t mark = id("<mark>");
    // A control token ends a text: what follows gets the prefix again, beside its own space.
    EXPECT_EQ(tokenizer->encode("ab</s> ab", parse),
              prefix ? (Ids{id("\u2581ab"), end, space, id("\u2581ab")}) : (Ids{id("ab"), end, id("\u2581ab")}));
    // A user-defined token is part of the text: no prefix after it.
    EXPECT_EQ(tokenizer->encode("<mark>ab", parse), prefix ? (Ids{space, mark, id("ab")}) : (Ids{mark, id("ab")}));
    EXPECT_EQ(tokenizer->encode("ab<mark> ab", parse), (Ids{prefix ? id("\u2581ab") : id("ab"), mark, id("\u2581ab")}));
    for (const std::string text :
         {"ab</s> ab", "<mark>ab", " ab", "  ab<mark>  ab", "</s></s> ", "ab ", "", "\u00E9</s>\xFF"})
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(text, parse), true), text);
  }
}

TEST(Tokenizer, BosAndEosOnlyWhenAsked) {
  Vocabulary vocabulary = small::sentencepiece();
  vocabulary.add_bos = vocabulary.add_eos = true;
  const auto tokenizer = make(vocabulary);
  EXPECT_EQ(tokenizer->encode("", {.add_special = true}), (Ids{1, 2}));
  EXPECT_EQ(tokenizer->encode(""), Ids{});
}

TEST(Tokenizer, UnigramTakesTheBestTotal) {
  const auto tokenizer = make(small::unigram());
  const auto id = [&](const char* text) { return *tokenizer->find(text); };
  // Greedily by score, "ab" would come first.
  EXPECT_EQ(tokenizer->encode("abc"), (Ids{id("\u2581a"), id("bc")}));
  EXPECT_EQ(tokenizer->encode(" abc"), (Ids{id("\u2581a"), id("bc")}));
  EXPECT_EQ(tokenizer->encode("a\u65E5\u672Ca"), (Ids{id("\u2581a"), 0, id("a")}));
  std::string unknown;
  for (int i = 0; i < 5000; ++i) unknown += "\u65E5\u672C";
  EXPECT_EQ(tokenizer->encode(unknown), (Ids{id("\u2581"), 0}));
}

TEST(Tokenizer, MegabyteWithoutSpaces) {
  for (const Vocabulary& vocabulary : {small::byte_level(), small::sentencepiece(), small::unigram()}) {
    const auto tokenizer = make(vocabulary);
    for (const std::string unit : {"a", "ab", "abc"}) {
      std::string text;
      while (text.size() < 1'000'000) text += unit;
      EXPECT_EQ(tokenizer->decode(tokenizer->encode(text)), text);
    }
  }
}

TEST(Tokenizer, LongWordsMergeAsShortOnes) {
  // One word on both sides of the length at which the algorithm changes; the merges repeat with the text.
  const auto tokenizer = make(small::byte_level());
  for (size_t pairs = 1; pairs < 120; ++pairs) {
    std::string text;
    for (size_t i = 0; i < pairs; ++i) text += "ab";
    EXPECT_EQ(tokenizer->encode(text), (Ids(pairs, *tokenizer->find("ab"))));
  }
}

std::string error_of(Vocabulary vocabulary) {
  const auto tokenizer = Tokenizer::create(std::move(vocabulary));
  return tokenizer ? "" : tokenizer.error().message;
}

TEST(Tokenizer, WrongVocabulariesAreErrors) {
  Vocabulary vocabulary = small::byte_level();
  vocabulary.merges = {"a nothing"};
  EXPECT_NE(error_of(vocabulary).find("a nothing"), std::string::npos);
  vocabulary.merges = {"ab"};
  EXPECT_NE(error_of(vocabulary).find("'ab'"), std::string::npos);
  vocabulary.merges = {};
  EXPECT_NE(error_of(vocabulary).find("merges"), std::string::npos);
  vocabulary = small::byte_level();
  vocabulary.pre = "nobody-knows";
  EXPECT_NE(error_of(vocabulary).find("nobody-knows"), std::string::npos);
  vocabulary.model = "bert";
  EXPECT_NE(error_of(vocabulary).find("bert"), std::string::npos);
  vocabulary = small::sentencepiece();
  vocabulary.scores[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(error_of(vocabulary).find("token 5"), std::string::npos);
  vocabulary = small::sentencepiece();
  vocabulary.scores.pop_back();
  EXPECT_NE(error_of(vocabulary).find("scores"), std::string::npos);
  vocabulary.scores.clear();
  EXPECT_NE(error_of(vocabulary).find("scores"), std::string::npos);
  vocabulary = small::unigram();
  vocabulary.precompiled_charsmap = "\xFF\xFF\xFF\x7F trie";
  EXPECT_NE(error_of(vocabulary).find("charsmap"), std::string::npos);
}

format::GgufMetadata metadata() {
  format::GgufMetadata out;
  out.set("tokenizer.ggml.model", "llama");
  out.set("tokenizer.ggml.tokens",
          format::GgufArray{.type = format::GgufType::string, .strings = {"<unk>", "<s>", "</s>", "a"}});
  out.set("tokenizer.ggml.scores", format::GgufArray{.type = format::GgufType::f32, .floats = {0, 0, 0, -1}});
  out.set("tokenizer.ggml.token_type", format::GgufArray{.type = format::GgufType::i32, .integers = {2, 3, 3, 1}});
  return out;
}

TEST(Vocabulary, DefaultsOfSentencePiece) {
  const auto vocabulary = read_vocabulary(metadata());
  ASSERT_TRUE(vocabulary.ok());
  EXPECT_EQ(vocabulary->bos, 1);
  EXPECT_EQ(vocabulary->eos, 2);
  EXPECT_TRUE(vocabulary->add_bos);
  EXPECT_TRUE(vocabulary->add_space_prefix);
  EXPECT_EQ(vocabulary->end_of_generation, (Ids{2}));
}

TEST(Vocabulary, WrongMetadataIsAnError) {
  const auto error = [](auto&& change) {
    format::GgufMetadata changed = metadata();
    change(changed);
    const auto vocabulary = read_vocabulary(changed);
    return vocabulary ? std::string() : vocabulary.error().message;
  };
  using format::GgufArray;
  using format::GgufType;
  EXPECT_FALSE(read_vocabulary(format::GgufMetadata()).ok());
  EXPECT_NE(error([](auto& m) { m.set("tokenizer.ggml.tokens", GgufArray{.type = GgufType::i32, .integers = {1}}); }),
            "");
  EXPECT_NE(error([](auto& m) { m.set("tokenizer.ggml.tokens", 4u); }), "");
  EXPECT_NE(error([](auto& m) {
              m.set("tokenizer.ggml.scores", GgufArray{.type = GgufType::f32, .floats = {0}});
            }).find("scores"),
            std::string::npos);
  EXPECT_NE(error([](auto& m) {
              m.set("tokenizer.ggml.token_type", GgufArray{.type = GgufType::i32, .integers = {1, 1, 1, 9}});
            }),
            "");
  EXPECT_NE(
      error([](auto& m) { m.set("tokenizer.ggml.token_type", GgufArray{.type = GgufType::i32, .integers = {1}}); }),
      "");
  EXPECT_NE(error([](auto& m) { m.set("tokenizer.ggml.bos_token_id", 4u); }).find("bos_token_id"), std::string::npos);
  EXPECT_NE(error([](auto& m) { m.set("tokenizer.ggml.eos_token_id", 0xFFFFFFFFu); }), "");
  EXPECT_NE(error([](auto& m) { m.set("tokenizer.ggml.merges", GgufArray{.type = GgufType::i32, .integers = {1}}); }),
            "");
  EXPECT_NE(error([](auto& m) { m.set("tokenizer.ggml.add_bos_token", "yes"); }), "");
}

}  // namespace
}  // namespace terrace::text
