#include "text/jinja/utf8.h"

#include <utf8proc.h>

namespace terrace::text::jinja::utf8 {

Point decode(std::string_view text) {
  utf8proc_int32_t code = -1;
  const auto size = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data()),
                                     static_cast<utf8proc_ssize_t>(text.size()), &code);
  if (size <= 0) return {-1, 1};
  return {code, static_cast<size_t>(size)};
}

void append(std::string& out, int32_t code) {
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    out += static_cast<char>(0x80 | ((code >> 12) & 0x3F));
    out += static_cast<char>(0x80 | ((code >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (code & 0x3F));
  }
}

size_t length(std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; at < text.size(); ++count) at += decode(text.substr(at)).size;
  return count;
}

std::vector<size_t> offsets(std::string_view text) {
  std::vector<size_t> result;
  result.reserve(text.size() + 1);
  for (size_t at = 0; at < text.size(); at += decode(text.substr(at)).size) result.push_back(at);
  result.push_back(text.size());
  return result;
}

bool is_space(int32_t code) {
  if ((code >= 9 && code <= 13) || (code >= 0x1C && code <= 0x20)) return true;
  return code == 0x85 || code == 0xA0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200A) || code == 0x2028 ||
         code == 0x2029 || code == 0x202F || code == 0x205F || code == 0x3000;
}

bool is_line_break(int32_t code) {
  return (code >= 10 && code <= 13) || (code >= 0x1C && code <= 0x1E) || code == 0x85 || code == 0x2028 ||
         code == 0x2029;
}

namespace {

utf8proc_category_t category(int32_t code) { return code < 0 ? UTF8PROC_CATEGORY_CN : utf8proc_category(code); }

// What utf8proc's one-to-one mapping leaves out and everyday text contains.
bool append_special_upper(std::string& out, int32_t code, bool first_only) {
  const char* text = nullptr;
  switch (code) {
    case 0xDF:
      text = first_only ? "Ss" : "SS";
      break;
    case 0x149:
      text = "\xCA\xBCN";
      break;
    case 0xFB00:
      text = first_only ? "Ff" : "FF";
      break;
    case 0xFB01:
      text = first_only ? "Fi" : "FI";
      break;
    case 0xFB02:
      text = first_only ? "Fl" : "FL";
      break;
    case 0xFB03:
      text = first_only ? "Ffi" : "FFI";
      break;
    case 0xFB04:
      text = first_only ? "Ffl" : "FFL";
      break;
    default:
      return false;
  }
  out += text;
  return true;
}

bool is_cased(int32_t code) {
  const auto kind = category(code);
  return kind == UTF8PROC_CATEGORY_LU || kind == UTF8PROC_CATEGORY_LL || kind == UTF8PROC_CATEGORY_LT;
}

// A capital sigma at the end of a word has its own small letter.
void append_lower(std::string& out, std::string_view text, size_t at, Point point, bool after_cased) {
  if (point.code < 0) {
    out += text[at];
  } else if (point.code == 0x130) {
    out += "i\xCC\x87";
  } else if (point.code == 0x3A3) {
    const auto rest = text.substr(at + point.size);
    const bool before_cased = !rest.empty() && is_cased(decode(rest).code);
    append(out, after_cased && !before_cased ? 0x3C2 : 0x3C3);
  } else {
    append(out, utf8proc_tolower(point.code));
  }
}

void append_upper(std::string& out, std::string_view text, size_t at, Point point, bool title_case) {
  if (point.code < 0) {
    out += text[at];
  } else if (!append_special_upper(out, point.code, title_case)) {
    append(out, title_case ? utf8proc_totitle(point.code) : utf8proc_toupper(point.code));
  }
}

}  // namespace

bool is_alpha(int32_t code) {
  const auto kind = category(code);
  return kind >= UTF8PROC_CATEGORY_LU && kind <= UTF8PROC_CATEGORY_LO;
}
bool is_decimal(int32_t code) { return category(code) == UTF8PROC_CATEGORY_ND; }
bool is_digit(int32_t code) {
  if (is_decimal(code)) return true;
  return code == 0xB2 || code == 0xB3 || code == 0xB9 || code == 0x2070 || (code >= 0x2074 && code <= 0x2079) ||
         (code >= 0x2080 && code <= 0x2089) || (code >= 0x2460 && code <= 0x2468);
}
bool is_numeric(int32_t code) {
  const auto kind = category(code);
  return kind == UTF8PROC_CATEGORY_ND || kind == UTF8PROC_CATEGORY_NL || kind == UTF8PROC_CATEGORY_NO;
}
bool is_upper(int32_t code) { return category(code) == UTF8PROC_CATEGORY_LU; }
bool is_lower(int32_t code) { return category(code) == UTF8PROC_CATEGORY_LL || code == 0xAA || code == 0xBA; }
bool is_printable(int32_t code) {
  if (code == ' ') return true;
  switch (category(code)) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZS:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
      return false;
    default:
      return true;
  }
}

std::string upper(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Point point = decode(text.substr(at));
    append_upper(out, text, at, point, false);
    at += point.size;
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  bool after_cased = false;
  for (size_t at = 0; at < text.size();) {
    const Point point = decode(text.substr(at));
    append_lower(out, text, at, point, after_cased);
    after_cased = is_cased(point.code);
    at += point.size;
  }
  return out;
}

std::string title(std::string_view text) {
  std::string out;
  bool after_cased = false;
  for (size_t at = 0; at < text.size();) {
    const Point point = decode(text.substr(at));
    if (after_cased) {
      append_lower(out, text, at, point, true);
    } else {
      append_upper(out, text, at, point, true);
    }
    after_cased = is_cased(point.code);
    at += point.size;
  }
  return out;
}

std::string capitalize(std::string_view text) {
  if (text.empty()) return {};
  std::string out;
  const Point first = decode(text);
  append_upper(out, text, 0, first, true);
  return out + lower(text.substr(first.size));
}

std::string swapcase(std::string_view text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const Point point = decode(text.substr(at));
    if (is_upper(point.code)) {
      append_lower(out, text, at, point, false);
    } else {
      append_upper(out, text, at, point, false);
    }
    at += point.size;
  }
  return out;
}

size_t leading_space(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const Point point = decode(text.substr(at));
    if (!is_space(point.code)) break;
    at += point.size;
  }
  return at;
}

size_t trailing_space(std::string_view text) {
  size_t end = text.size();
  while (end > 0) {
    size_t start = end - 1;
    while (start > 0 && end - start < 4 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80) --start;
    const Point point = decode(text.substr(start, end - start));
    if (point.size != end - start || !is_space(point.code)) break;
    end = start;
  }
  return text.size() - end;
}

}  // namespace terrace::text::jinja::utf8
