#include <gtest/gtest.h>

#include <random>

#include "small_vocabularies.h"
#include "text/detokenizer.h"
#include "text/unicode.h"

namespace terrace::text {
namespace {

using small::make;

std::string streamed(const Tokenizer& tokenizer, const std::vector<int32_t>& ids, StreamDecoder::Options options = {}) {
  StreamDecoder decoder(tokenizer, options);
  std::string out;
  for (const int32_t id : ids) {
    const std::string part = decoder.push(id);
    EXPECT_EQ(utf8_valid_prefix(part), part.size());
    out += part;
  }
  return out + decoder.finish();
}

TEST(Utf8Lossy, BrokenBytes) {
  const std::string bad = "\uFFFD";
  EXPECT_EQ(utf8_lossy("a\xC0\x80z"), "a" + bad + bad + "z");
  EXPECT_EQ(utf8_lossy("\xED\xA0\x80"), bad + bad + bad);
  EXPECT_EQ(utf8_lossy("\xF4\x90\x80\x80"), bad + bad + bad + bad);
  EXPECT_EQ(utf8_lossy("\xE6\xAD"), bad);
  EXPECT_EQ(utf8_lossy("\xF0\x9F\x98z"), bad + "z");
  EXPECT_EQ(utf8_lossy("\xE6\xAD\xAA \u00E9 \U0001F600"), "\xE6\xAD\xAA \u00E9 \U0001F600");
}

TEST(StreamDecoder, ATailIsHeldUntilItIsWhole) {
  const auto tokenizer = make(small::byte_level());
  const auto ids = tokenizer->encode("\u6B6A");
  ASSERT_EQ(ids.size(), 3u);
  StreamDecoder decoder(*tokenizer);
  EXPECT_EQ(decoder.push(ids[0]), "");
  EXPECT_EQ(decoder.push(ids[1]), "");
  EXPECT_EQ(decoder.push(ids[2]), "\u6B6A");
  EXPECT_EQ(decoder.finish(), "");
  decoder.push(ids[0]);
  decoder.push(ids[1]);
  EXPECT_EQ(decoder.finish(), "\uFFFD");
}

TEST(StreamDecoder, EqualsTheWholeAtEveryCut) {
  for (const Vocabulary& vocabulary : {small::byte_level(), small::sentencepiece()}) {
    const auto tokenizer = make(vocabulary);
    const auto ids =
        tokenizer->encode(" ab \u00E9\u6B6A\U0001F600 \xC0\x80\xED\xA0\x80<mark>\xF4\x90\x80\x80 abc\xE6\xAD");
    for (size_t cut = 0; cut <= ids.size(); ++cut) {
      const std::vector<int32_t> part(ids.begin(), ids.begin() + static_cast<ptrdiff_t>(cut));
      EXPECT_EQ(streamed(*tokenizer, part), utf8_lossy(tokenizer->decode(part)));
    }
  }
}

TEST(StreamDecoder, EqualsTheWholeForRandomTokens) {
  std::mt19937 random(5);
  for (const Vocabulary& vocabulary : {small::byte_level(), small::sentencepiece(), small::unigram()}) {
    const auto tokenizer = make(vocabulary);
    for (int i = 0; i < 2000; ++i) {
      std::vector<int32_t> ids(random() % 12);
      for (int32_t& id : ids) id = static_cast<int32_t>(random() % tokenizer->size());
      for (const bool specials : {false, true})
        ASSERT_EQ(streamed(*tokenizer, ids, {.specials = specials}), utf8_lossy(tokenizer->decode(ids, specials)));
    }
  }
}

TEST(StreamDecoder, FirstSpaceOfAContinuationStays) {
  const auto tokenizer = make(small::sentencepiece());
  const std::vector<int32_t> ids = {*tokenizer->find("\u2581ab")};
  EXPECT_EQ(streamed(*tokenizer, ids), "ab");
  EXPECT_EQ(streamed(*tokenizer, ids, {.continues = true}), " ab");
}

}  // namespace
}  // namespace terrace::text
