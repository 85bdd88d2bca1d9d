// The classes of characters that pre-tokenizers tell apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace terrace::text {

enum CharClass : uint8_t {
  other = 0,
  letter = 1,   ///< \p{L}
  number = 2,   ///< \p{N}
  mark = 4,     ///< \p{M}
  space = 8,    ///< Unicode's White_Space
  newline = 16  ///< \r and \n, which are spaces as well
};

/// Looks classes up in one table for all of Unicode, which is made at the first use in the process.
class CharClasses {
 public:
  struct Character {
    uint8_t classes = other;
    uint8_t length = 0;
  };

  CharClasses() : table_(shared_table()) {}

  /// The character at `at`. REQUIRES: at < text.size(); the text is well-formed UTF-8.
  Character at(std::string_view text, size_t at) const {
    const auto lead = static_cast<uint8_t>(text[at]);
    if (lead < 0x80) return {table_[lead], 1};
    const auto bits = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(text[at + i]) & 0x3F); };
    if (lead < 0xE0) return {table_[(lead & 0x1Fu) << 6 | bits(1)], 2};
    if (lead < 0xF0) return {table_[(lead & 0x0Fu) << 12 | bits(1) << 6 | bits(2)], 3};
    return {table_[(lead & 0x07u) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3)], 4};
  }

 private:
  static const uint8_t* shared_table();
  const uint8_t* table_;
};

}  // namespace terrace::text
