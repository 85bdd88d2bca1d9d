// Cuts text that has no pre-tokenizer where no token can cross.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace terrace::text {

inline constexpr std::string_view visible_space = "\xE2\x96\x81";  ///< U+2581, SentencePiece's space

/// Finds short words, which can be cached. A cut between two characters changes no result if no token has such a pair
/// inside; which pairs there are is learnt from the vocabulary. Characters are told apart by their last byte (on the
/// left) or first byte (on the right), which may only miss a cut, and U+2581 from all others.
class WordCutter {
 public:
  void learn(std::string_view token) {
    for (size_t at = 1; at < token.size(); ++at)
      if (begins_character(token[at])) crossed_.set(pair(token, at));
  }

  /// The end of the word that begins at `begin`. REQUIRES: begin < text.size().
  size_t end_of_word(std::string_view text, size_t begin) const {
    size_t at = begin + 1;
    while (at < text.size() && (!begins_character(text[at]) || crossed_.test(pair(text, at)))) ++at;
    return at;
  }

 private:
  static bool begins_character(char c) { return (static_cast<uint8_t>(c) & 0xC0) != 0x80; }

  // 0xFF, which occurs in no UTF-8, stands for U+2581.
  static size_t pair(std::string_view text, size_t at) {
    auto left = static_cast<uint8_t>(text[at - 1]);
    auto right = static_cast<uint8_t>(text[at]);
    if (left == 0x81 && text.substr(0, at).ends_with(visible_space)) left = 0xFF;
    if (right == 0xE2 && text.substr(at).starts_with(visible_space)) right = 0xFF;
    return size_t{left} << 8 | right;
  }

  std::bitset<65536> crossed_;
};

}  // namespace terrace::text
