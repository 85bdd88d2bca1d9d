#include "text/unicode.h"

#include <utf8proc.h>

#include <cstdlib>
#include <cstring>

namespace terrace::text {

Utf8Step utf8_step(std::string_view text) {
  using Kind = Utf8Step::Kind;
  const auto byte = [&](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {1, Kind::valid};
  uint8_t length = 0;
  uint8_t low = 0x80;
  uint8_t high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    length = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    length = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    length = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return {1, Kind::broken};
  }
  for (uint8_t i = 1; i < length; ++i) {
    if (i >= text.size()) return {i, Kind::truncated};
    if (byte(i) < low || byte(i) > high) return {i, Kind::broken};
    low = 0x80;
    high = 0xBF;
  }
  return {length, Kind::valid};
}

uint32_t utf8_decode(std::string_view character) {
  const auto bits = [&](size_t i) { return static_cast<uint32_t>(static_cast<uint8_t>(character[i]) & 0x3F); };
  const auto lead = static_cast<uint8_t>(character[0]);
  switch (character.size()) {
    case 1:
      return lead;
    case 2:
      return (lead & 0x1Fu) << 6 | bits(1);
    case 3:
      return (lead & 0x0Fu) << 12 | bits(1) << 6 | bits(2);
    default:
      return (lead & 0x07u) << 18 | bits(1) << 12 | bits(2) << 6 | bits(3);
  }
}

size_t utf8_valid_prefix(std::string_view text) {
  size_t position = 0;
  while (position < text.size()) {
    uint64_t word = 0;
    if (text.size() - position >= sizeof word) {
      std::memcpy(&word, text.data() + position, sizeof word);
      if ((word & 0x8080808080808080u) == 0) {
        position += sizeof word;
        continue;
      }
    }
    const Utf8Step step = utf8_step(text.substr(position));
    if (step.kind != Utf8Step::Kind::valid) break;
    position += step.length;
  }
  return position;
}

std::string utf8_lossy(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const size_t valid = utf8_valid_prefix(text);
    out.append(text.substr(0, valid));
    text.remove_prefix(valid);
    if (text.empty()) break;
    out.append("\xEF\xBF\xBD");
    text.remove_prefix(utf8_step(text).length);
  }
  return out;
}

std::string nfc(std::string_view text) {
  utf8proc_uint8_t* mapped = nullptr;
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE);
  const utf8proc_ssize_t size = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                             static_cast<utf8proc_ssize_t>(text.size()), &mapped, options);
  if (size < 0) return std::string(text);
  std::string out(reinterpret_cast<const char*>(mapped), static_cast<size_t>(size));
  std::free(mapped);
  return out;
}

namespace {

// Ranges whose characters neither change under form C nor combine with a character before them.
bool stands_alone(uint32_t c) {
  return c < 0x300 || (c >= 0x400 && c <= 0x482) || (c >= 0x2010 && c <= 0x2027) || (c >= 0x3000 && c <= 0x3029) ||
         (c >= 0x3041 && c <= 0x3096) || (c >= 0x309B && c <= 0x9FFF) || (c >= 0xAC00 && c <= 0xD7A3) ||
         (c >= 0xFF01 && c <= 0xFFEE) || (c >= 0x1F300 && c <= 0x1FAFF);
}

}  // namespace

bool may_need_nfc(std::string_view text) {
  // Everything below U+0300 stands alone; U+0300 is CC 80 in UTF-8.
  for (size_t i = 0; i < text.size();) {
    const auto lead = static_cast<uint8_t>(text[i]);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
    if (!stands_alone(utf8_decode(text.substr(i, length)))) return true;
    i += length;
  }
  return false;
}

}  // namespace terrace::text
