#include "text/byte_alphabet.h"

#include <array>

#include "text/unicode.h"

namespace terrace::text {
namespace {

constexpr bool stands_for_itself(uint32_t c) {
  return (c >= 0x21 && c <= 0x7E) || (c >= 0xA1 && c <= 0xAC) || (c >= 0xAE && c <= 0xFF);
}

// The bytes that are not printable, in the order of the characters from U+0100 on that stand for them.
constexpr auto hidden_bytes = [] {
  std::array<uint8_t, 68> bytes{};
  size_t count = 0;
  for (uint32_t c = 0; c < 256; ++c)
    if (!stands_for_itself(c)) bytes[count++] = static_cast<uint8_t>(c);
  return bytes;
}();

}  // namespace

std::string byte_character(uint8_t byte) {
  uint32_t c = byte;
  if (!stands_for_itself(c)) {
    c = 0x100;
    while (hidden_bytes[c - 0x100] != byte) ++c;
  }
  if (c < 0x80) return std::string(1, static_cast<char>(c));
  return {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))};
}

std::string alphabet_bytes(std::string_view token) {
  std::string bytes;
  while (!token.empty()) {
    const Utf8Step step = utf8_step(token);
    const std::string_view character = token.substr(0, step.length);
    token.remove_prefix(step.length);
    const uint32_t c = step.kind == Utf8Step::Kind::valid ? utf8_decode(character) : 0xFFFD;
    if (stands_for_itself(c)) {
      bytes.push_back(static_cast<char>(c));
    } else if (c >= 0x100 && c < 0x100 + hidden_bytes.size()) {
      bytes.push_back(static_cast<char>(hidden_bytes[c - 0x100]));
    } else {
      bytes.append(character);
    }
  }
  return bytes;
}

int byte_token_value(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return -1;
  int value = 0;
  for (const char c : token.substr(3, 2)) {
    const int nibble = c >= '0' && c <= '9'   ? c - '0'
                       : c >= 'A' && c <= 'F' ? c - 'A' + 10
                       : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                              : -1;
    if (nibble < 0) return -1;
    value = value * 16 + nibble;
  }
  return value;
}

}  // namespace terrace::text
