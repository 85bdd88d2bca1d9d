// The parts of a tokenizer's conversion.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/vocabulary.h"
#include "tools/convert/tokenizer.h"

namespace terrace::tools {

/// The JSON files of a tokenizer; objects, empty ones where a file is missing.
struct TokenizerFiles {
  std::string where;  ///< begins errors
  Json tokenizer = Json::object();
  Json settings = Json::object();  ///< tokenizer_config.json
  std::string chat_template;       ///< of a file of its own
  bool has_tokenizer() const { return !tokenizer.empty(); }
};

/// A token that the files list beside the vocabulary.
struct AddedToken {
  std::string text;
  bool special = false;
};
/// By id, those of tokenizer_config.json over those of tokenizer.json.
Result<std::map<uint64_t, AddedToken>> read_added_tokens(const TokenizerFiles& files, bool with_tokenizer_json);

/// What becomes of the files: tokenizer.ggml.tokens and what lies beside it.
struct TokenList {
  std::vector<std::string> texts;
  std::vector<text::TokenType> types;
  std::vector<float> scores;  ///< empty, or one per token
  std::vector<std::string> merges;
};
/// `count` places that no token has taken yet: "[PAD<i>]", unused.
TokenList empty_tokens(uint64_t count);
/// Sets an added token: control, or user-defined with plain spaces.
void set_added_token(TokenList& list, uint64_t id, const AddedToken& token);

/// tokenizer.json with byte-level BPE, for `count` tokens.
Result<TokenList> read_byte_bpe(const TokenizerFiles& files, uint64_t count);
/// tokenizer.json with BPE over the whole text.
Result<TokenList> read_piece_bpe(const TokenizerFiles& files, const TokenizerForm& form, uint64_t count);
/// The bytes of a tokenizer.model, with the added tokens of tokenizer_config.json.
Result<TokenList> read_sentencepiece(std::span<const std::byte> bytes, const TokenizerFiles& files, uint64_t count,
                                     std::vector<std::string>& notes);

/// The name for tokenizer.ggml.pre, of the normalizer and the pre-tokenizer in a tokenizer.json.
Result<std::string> recognize_pre_tokenizer(const TokenizerFiles& files, std::span<const std::string_view> preferred);

/// Ids of special tokens, whether they are added, chat templates.
Status write_special_tokens(const TokenizerFiles& files, const Config& config, uint64_t count,
                            format::GgufMetadata& metadata, std::vector<std::string>& notes);

}  // namespace terrace::tools
