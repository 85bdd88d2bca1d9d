// Python's view of a string over UTF-8 bytes: code points, white space, case. A byte that is not part of a whole
// character counts as one code point of its own, so that any input survives a round trip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::text::jinja::utf8 {

/// A code point and the bytes it came from. `code` is -1 for a stray byte.
struct Point {
  int32_t code = -1;
  size_t size = 0;
};

/// The code point at the front of `text`, which is not empty.
Point decode(std::string_view text);
void append(std::string& out, int32_t code);

size_t length(std::string_view text);
/// The offsets of all code points, then the offset of the end.
std::vector<size_t> offsets(std::string_view text);

bool is_space(int32_t code);
bool is_line_break(int32_t code);
bool is_alpha(int32_t code);
bool is_digit(int32_t code);
bool is_numeric(int32_t code);
bool is_decimal(int32_t code);
bool is_upper(int32_t code);
bool is_lower(int32_t code);
bool is_printable(int32_t code);

std::string upper(std::string_view text);
std::string lower(std::string_view text);
std::string title(std::string_view text);
std::string capitalize(std::string_view text);
std::string swapcase(std::string_view text);

/// The bytes taken by white space at the front or at the end.
size_t leading_space(std::string_view text);
size_t trailing_space(std::string_view text);

}  // namespace terrace::text::jinja::utf8
