// Text <-> tokens for every kind of vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "text/byte_trie.h"
#include "text/token_model.h"
#include "text/vocabulary.h"

namespace terrace::text {

struct EncodeOptions {
  bool parse_special = false;  ///< control tokens written in the text become those tokens; user-defined ones always do
  bool add_special = false;    ///< BOS before and EOS after the text, if the vocabulary asks for them
};

/// Constant after creation; every method may run in any thread.
class Tokenizer {
 public:
  static Result<std::unique_ptr<Tokenizer>> create(Vocabulary vocabulary);

  /// Any bytes are accepted. Where special tokens overlap, the leftmost wins, and among those the longest.
  std::vector<int32_t> encode(std::string_view text, EncodeOptions options = {}) const;

  /// The bytes of the tokens together; they need not be whole UTF-8. Ids that are no tokens stand for nothing.
  /// `specials`: control tokens appear as their text. The space that encode() puts before text is taken away again.
  std::string decode(std::span<const int32_t> ids, bool specials = false) const;

  /// What decode() would add for `id`. `begins`: the next text begins here, so that a space prefix is to be dropped;
  /// updated.
  std::string_view piece(int32_t id, bool specials, bool& begins) const;

  /// The bytes that `id` stands for, as they are in the middle of text; empty for an id that is no token.
  std::string_view token_bytes(int32_t id) const;

  size_t size() const { return vocabulary_.tokens.size(); }
  bool is_token(int32_t id) const { return id >= 0 && static_cast<size_t>(id) < size(); }
  bool is_control(int32_t id) const;
  bool is_end_of_generation(int32_t id) const;
  std::optional<int32_t> bos() const { return vocabulary_.bos; }
  std::optional<int32_t> eos() const { return vocabulary_.eos; }
  /// The token of exactly that text, as the vocabulary writes it.
  std::optional<int32_t> find(std::string_view text) const;
  const Vocabulary& vocabulary() const { return vocabulary_; }

 private:
  explicit Tokenizer(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  Status build();
  void index_tokens();

  Vocabulary vocabulary_;
  std::unique_ptr<const TokenModel> model_;
  std::vector<std::string> bytes_;
  std::unordered_map<std::string_view, int32_t> ids_;  ///< keys live in vocabulary_
  ByteTrie parsed_;                                    ///< cut out of the text if special tokens are parsed
  ByteTrie always_;                                    ///< cut out of the text in any case
  bool prefixed_ = false;                              ///< encode() puts a space before text
  bool prefixed_after_user_defined_ = false;
};

}  // namespace terrace::text
