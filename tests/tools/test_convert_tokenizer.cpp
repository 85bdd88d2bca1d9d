// Tokenizers that cannot be converted, and why.
#include <gmock/gmock.h>

#include "tools/checkpoints.h"
#include "tools/convert/tokenizer_files.h"

namespace terrace::tools {
namespace {

using testing::fixture;
using ::testing::HasSubstr;
using testing::message_of;
using testing::read_file;
using testing::take;

class TokenizerConversion : public ::testing::Test {
 protected:
  TokenizerConversion() { files.tokenizer = take(read_json(fixture("llama-rope3/hf/tokenizer.json"))); }
  std::string pre() { return message_of(recognize_pre_tokenizer(files, {})); }
  Json& split() { return files.tokenizer["pre_tokenizer"]["pretokenizers"][0]; }

  TokenizerFiles files = {"tokenizer.json", {}, Json::object(), {}};
};

TEST_F(TokenizerConversion, RecognizesWhatItKnows) {
  EXPECT_EQ(take(recognize_pre_tokenizer(files, {})), "llama-bpe");
  constexpr std::string_view kPreferred[] = {"qwen2", "lfm2"};
  EXPECT_EQ(take(recognize_pre_tokenizer(files, kPreferred)), "lfm2");
}

TEST_F(TokenizerConversion, SaysWhatItDoesNotKnow) {
  files.tokenizer["normalizer"] = {{"type", "Lowercase"}};
  EXPECT_THAT(pre(), HasSubstr("the normalizer is not form C"));
  files.tokenizer["normalizer"] = nullptr;
  split()["pattern"]["Regex"] = "[a-z]+";
  EXPECT_THAT(pre(), HasSubstr("[a-z]+"));
  split()["behavior"] = "Removed";
  EXPECT_THAT(pre(), HasSubstr("has a step that Terrace does not know"));
  files.tokenizer.erase("pre_tokenizer");
  EXPECT_THAT(pre(), HasSubstr("has a step"));
}

TEST_F(TokenizerConversion, PadsAndChecksIds) {
  const TokenList list = take(read_byte_bpe(files, 1030));
  EXPECT_EQ(list.texts[1029], "[PAD1029]");
  EXPECT_EQ(list.types[1029], text::TokenType::unused);
  EXPECT_THAT(message_of(read_byte_bpe(files, 1000)), HasSubstr("there are 1000 tokens"));
  EXPECT_THAT(message_of(read_byte_bpe(files, 1020)), HasSubstr("the added token"));
  files.tokenizer["model"]["vocab"]["again"] = 3U;
  EXPECT_THAT(message_of(read_byte_bpe(files, 1030)), HasSubstr("the same id 3"));
}

TEST_F(TokenizerConversion, SpacesInsideMergesAreLetters) {
  files.tokenizer["model"]["merges"] = Json::parse(R"([["a ", "b"]])");
  EXPECT_EQ(take(read_byte_bpe(files, 1030)).merges, std::vector<std::string>{"a\u0120 b"});
  files.tokenizer["model"]["merges"] = Json::parse(R"([["a", "b", "c"]])");
  EXPECT_THAT(message_of(read_byte_bpe(files, 1030)), HasSubstr("a merge is neither"));
}

TEST(SentencePieceModel, RefusesOtherBytes) {
  std::vector<std::string> notes;
  const auto problem = [&](std::string_view bytes) {
    return message_of(read_sentencepiece(testing::bytes_of(bytes), {}, 10, notes));
  };
  EXPECT_THAT(problem(""), HasSubstr("has no pieces"));
  EXPECT_THAT(problem("{\"a\": 1}"), HasSubstr("it is no SentencePiece model"));
  EXPECT_THAT(problem(std::string_view("\x0a\x7f", 2)), HasSubstr("claims 127 bytes"));
  EXPECT_THAT(problem("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"), HasSubstr("more than ten bytes"));
  // A piece "ab" with a score of 1, then a field of another message.
  const std::string_view piece(
      "\x0a\x09\x0a\x02"
      "ab\x15\x00\x00\x80\x3f\x12\x01x",
      14);
  const TokenList list = take(read_sentencepiece(testing::bytes_of(piece), {}, 10, notes));
  EXPECT_EQ(list.texts[0], "ab");
  EXPECT_EQ(list.scores[0], 1.0F);
  EXPECT_EQ(list.types[1], text::TokenType::unused);
}

}  // namespace
}  // namespace terrace::tools
