// Number and string literals of template code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace terrace::text::jinja {

struct NumberLiteral {
  size_t size = 0;
  bool is_float = false;
  int64_t integer = 0;
  double number = 0;
};

/// The number at the front of `text`, which starts with a digit. Throws Failure for an int beyond 64 bits.
NumberLiteral scan_number(std::string_view text, bool allow_float, int line);

/// The value of a string literal's inside, with Python's escapes.
std::string unescape(std::string_view text, int line);

/// The number that the whole of `text` is to Python's float(), if any.
bool parse_float(std::string_view text, double& number);
/// As int(text, base). False where Python raises ValueError; a Failure beyond 64 bits.
bool parse_integer(std::string_view text, int64_t base, int64_t& integer);

}  // namespace terrace::text::jinja
