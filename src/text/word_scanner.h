// The most common pre-tokenizer expressions, by hand: several times as fast as a regular expression engine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/char_class.h"

namespace terrace::text {

/// Splits as one of the expressions of pretokenizer_table.h does, which is the definition of what is right here.
class WordScanner {
 public:
  enum class Kind : uint8_t {
    digits,  ///< single_digits
    gpt2,    ///< gpt2_words
    cl100k,  ///< llama3_words: numbers of up to three digits
    qwen2,   ///< qwen2_words: numbers of one digit
    qwen35,  ///< qwen35_words: combining marks belong to words
  };

  explicit WordScanner(Kind kind) : kind_(kind) {}

  /// Appends base + the ends of the words of `text`. REQUIRES: well-formed UTF-8.
  void split(std::string_view text, size_t base, std::vector<size_t>& ends) const;

 private:
  void split_digits(std::string_view text, size_t base, std::vector<size_t>& ends) const;
  size_t gpt2_end(std::string_view text, size_t begin) const;
  size_t cl100k_end(std::string_view text, size_t begin) const;

  size_t skip(std::string_view text, size_t at, uint8_t any_of) const;
  size_t skip_without(std::string_view text, size_t at, uint8_t none_of) const;
  size_t end_of_spaces(std::string_view text, size_t begin, bool lines_first) const;

  Kind kind_;
  CharClasses classes_;
};

}  // namespace terrace::text
