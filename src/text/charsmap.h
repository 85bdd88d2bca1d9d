// What SentencePiece does to text before it looks for pieces.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/vocabulary.h"

namespace terrace::text {

/// Replacement rules of the form "longest known prefix -> text", in a double-array trie as SentencePiece stores them:
/// u32 size of the trie in bytes, the trie's units, then the replacements, each ended by a zero byte.
class Charsmap {
 public:
  static Result<Charsmap> create(std::string_view blob);

  bool empty() const { return units_.empty(); }

  struct Match {
    size_t length = 0;  ///< 0: no rule applies
    std::string_view replacement;
  };
  Match longest(std::string_view text) const;

 private:
  std::vector<uint32_t> units_;
  std::string replacements_;
};

/// Text -> text whose spaces are U+2581: rules applied, extra spaces removed, prefix added, as the vocabulary asks.
class PieceNormalizer {
 public:
  enum class Prefix : uint8_t {
    always,         ///< as SentencePiece
    unless_spaced,  ///< as tokenizer.json's Metaspace: not before text that begins with a space
  };
  static Result<PieceNormalizer> create(const Vocabulary& vocabulary, Prefix prefix);

  /// `begins`: the text begins here and gets the prefix, if the vocabulary has one, even if it is empty.
  std::string normalize(std::string_view text, bool begins) const;

 private:
  std::string with_rules(std::string_view text) const;

  Charsmap charsmap_;
  bool add_prefix_ = false;
  bool remove_extra_ = false;
  Prefix prefix_ = Prefix::always;
};

}  // namespace terrace::text
