// The alphabet of byte-level vocabularies: each byte is written as one printable character.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace terrace::text {

/// The character that stands for `byte`: itself if it is printable Latin-1, else one from U+0100 on.
std::string byte_character(uint8_t byte);

/// The bytes that a token text of that alphabet stands for; characters outside of the alphabet stand for themselves.
std::string alphabet_bytes(std::string_view token);

/// The byte that a token text of the form <0xNN> stands for, or -1.
int byte_token_value(std::string_view token);

}  // namespace terrace::text
