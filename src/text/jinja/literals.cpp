#include "text/jinja/literals.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <limits>

#include "text/jinja/limits.h"
#include "text/jinja/utf8.h"

namespace terrace::text::jinja {
namespace {

int digit_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'z') return c - 'a' + 10;
  if (c >= 'A' && c <= 'Z') return c - 'A' + 10;
  return 99;
}

// The end of digits of `base` from `at` on; an underscore may stand between two digits.
size_t digits_end(std::string_view text, size_t at, int base) {
  while (at < text.size()) {
    if (digit_value(text[at]) < base) {
      ++at;
    } else if (text[at] == '_' && at > 0 && digit_value(text[at - 1]) < base && at + 1 < text.size() &&
               digit_value(text[at + 1]) < base) {
      at += 2;
    } else {
      break;
    }
  }
  return at;
}

bool accumulate(std::string_view digits, int base, bool negative, int64_t& integer) {
  integer = 0;
  for (const char c : digits) {
    if (c == '_') continue;
    int64_t next = 0;
    if (__builtin_mul_overflow(integer, int64_t{base}, &next)) return false;
    if (__builtin_add_overflow(next, int64_t{negative ? -digit_value(c) : digit_value(c)}, &integer)) return false;
  }
  return true;
}

double to_double(std::string_view text) {
  std::string plain(text);
  std::erase(plain, '_');
  return std::strtod(plain.c_str(), nullptr);
}

void append_escape_code(std::string& out, std::string_view text, size_t& at, size_t digits, int line) {
  int64_t code = 0;
  for (size_t i = 0; i < digits; ++i, ++at) {
    const int digit = at < text.size() ? digit_value(text[at]) : 99;
    if (digit >= 16) throw Failure("a string has an incomplete escape", line);
    code = code * 16 + digit;
  }
  if (code > 0x10FFFF) throw Failure("a string has an escape beyond Unicode", line);
  utf8::append(out, static_cast<int32_t>(code));
}

}  // namespace

NumberLiteral scan_number(std::string_view text, bool allow_float, int line) {
  NumberLiteral literal;
  int base = 10;
  if (text.size() > 2 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
  }
  if (base != 10) {
    const size_t first = text[2] == '_' ? 3 : 2;
    const size_t end = digits_end(text, first, base);
    if (end > first) {
      if (!accumulate(text.substr(first, end - first), base, false, literal.integer)) {
        throw Failure("an integer is beyond 64 bits", line);
      }
      literal.size = end;
      return literal;
    }
    base = 10;
  }
  const size_t whole = digits_end(text, 0, 10);
  if (allow_float) {
    size_t end = whole;
    if (end + 1 < text.size() && text[end] == '.' && digit_value(text[end + 1]) < 10)
      end = digits_end(text, end + 1, 10);
    if (end < text.size() && (text[end] | 0x20) == 'e') {
      size_t digit = end + 1;
      if (digit < text.size() && (text[digit] == '+' || text[digit] == '-')) ++digit;
      if (digit < text.size() && digit_value(text[digit]) < 10) end = digits_end(text, digit, 10);
    }
    if (end > whole) {
      literal.is_float = true;
      literal.size = end;
      literal.number = to_double(text.substr(0, end));
      return literal;
    }
  }
  size_t end = whole;
  // Jinja reads a zero in front of other digits as a number of its own.
  if (text[0] == '0') {
    end = 1;
    while (end < whole && (text[end] == '0' || (text[end] == '_' && end + 1 < whole && text[end + 1] == '0'))) ++end;
  }
  if (!accumulate(text.substr(0, end), 10, false, literal.integer)) throw Failure("an integer is beyond 64 bits", line);
  literal.size = end;
  return literal;
}

std::string unescape(std::string_view text, int line) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    if (text[at] != '\\') {
      out += text[at++];
      continue;
    }
    if (++at == text.size()) throw Failure("a string ends inside an escape", line);
    const char c = text[at++];
    switch (c) {
      case '\n':
        break;
      case 'a':
        out += '\a';
        break;
      case 'b':
        out += '\b';
        break;
      case 'f':
        out += '\f';
        break;
      case 'n':
        out += '\n';
        break;
      case 'r':
        out += '\r';
        break;
      case 't':
        out += '\t';
        break;
      case 'v':
        out += '\v';
        break;
      case '\\':
      case '\'':
      case '"':
        out += c;
        break;
      case 'x':
        append_escape_code(out, text, at, 2, line);
        break;
      case 'u':
        append_escape_code(out, text, at, 4, line);
        break;
      case 'U':
        append_escape_code(out, text, at, 8, line);
        break;
      case 'N':
        throw Failure("named characters (\\N{...}) are not supported", line);
      default:
        if (c >= '0' && c <= '7') {
          int code = c - '0';
          for (int i = 0; i < 2 && at < text.size() && text[at] >= '0' && text[at] <= '7'; ++i)
            code = code * 8 + (text[at++] - '0');
          utf8::append(out, code);
        } else {
          out += '\\';
          out += c;
        }
    }
  }
  return out;
}

bool parse_float(std::string_view text, double& number) {
  text.remove_prefix(utf8::leading_space(text));
  text.remove_suffix(utf8::trailing_space(text));
  std::string_view body = text;
  if (!body.empty() && (body[0] == '+' || body[0] == '-')) body.remove_prefix(1);
  std::string word = utf8::lower(body);
  if (word == "inf" || word == "infinity" || word == "nan") {
    number = word == "nan" ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    if (text[0] == '-') number = -number;
    return true;
  }
  size_t at = digits_end(body, 0, 10);
  bool any = at > 0;
  if (at < body.size() && body[at] == '.') {
    const size_t end = digits_end(body, at + 1, 10);
    any = any || end > at + 1;
    at = end;
  }
  if (!any) return false;
  if (at < body.size() && (body[at] | 0x20) == 'e') {
    size_t digit = at + 1;
    if (digit < body.size() && (body[digit] == '+' || body[digit] == '-')) ++digit;
    const size_t end = digits_end(body, digit, 10);
    if (end == digit) return false;
    at = end;
  }
  if (at != body.size()) return false;
  number = to_double(text);
  return true;
}

bool parse_integer(std::string_view text, int64_t base, int64_t& integer) {
  if (base != 0 && (base < 2 || base > 36)) return false;
  text.remove_prefix(utf8::leading_space(text));
  text.remove_suffix(utf8::trailing_space(text));
  const bool negative = !text.empty() && text[0] == '-';
  if (!text.empty() && (text[0] == '+' || text[0] == '-')) text.remove_prefix(1);
  if (text.size() > 2 && text[0] == '0') {
    const char mark = static_cast<char>(text[1] | 0x20);
    const int64_t marked = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 0;
    if (marked != 0 && (base == 0 || base == marked)) {
      base = marked;
      text.remove_prefix(text[2] == '_' ? 3 : 2);
    }
  }
  if (base == 0) {
    base = 10;
    if (text.size() > 1 && text[0] == '0' && text.find_first_not_of("0_") != std::string_view::npos) return false;
  }
  if (text.empty() || digits_end(text, 0, static_cast<int>(base)) != text.size()) return false;
  if (!accumulate(text, static_cast<int>(base), negative, integer)) throw Failure("an integer is beyond 64 bits");
  return true;
}

}  // namespace terrace::text::jinja
