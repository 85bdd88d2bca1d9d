// UTF-8 as it comes from outside: possibly cut, possibly broken.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace terrace::text {

/// What stands at the start of a byte string.
struct Utf8Step {
  enum class Kind : uint8_t {
    valid,      ///< one well-formed character of `length` bytes
    broken,     ///< `length` bytes that no continuation can make a character
    truncated,  ///< the text ends after `length` bytes of a character that could still become whole
  };
  uint8_t length = 0;
  Kind kind = Kind::valid;
};

/// Classifies the bytes at the start of `text`. REQUIRES: text is not empty. Overlong forms, surrogates and values
/// above 10FFFF are broken; a broken step is as long as the longest prefix of a character, as in a standard lossy
/// decode.
Utf8Step utf8_step(std::string_view text);

/// The code point of a well-formed character.
uint32_t utf8_decode(std::string_view character);

/// The bytes at the start of `text` that are well-formed UTF-8.
size_t utf8_valid_prefix(std::string_view text);

/// `text` with every broken or truncated step replaced by U+FFFD.
std::string utf8_lossy(std::string_view text);

/// Normalisation form C of well-formed text.
std::string nfc(std::string_view text);

/// False only if nfc(text) == text; cheap, and true for some text that is in form C already.
bool may_need_nfc(std::string_view text);

}  // namespace terrace::text
