// Reading the arguments of functions, methods and filters.
#pragma once

#include "text/jinja/interpreter.h"

namespace terrace::text::jinja {

/// The string of an argument that must be one.
inline const std::string& string_of(const Value& value, const char* callee) {
  value.require_defined();
  if (!value.is_string()) throw Failure(std::string(callee) + "() needs a string, not " + type_name(value));
  return value.string();
}

inline int64_t integer_of(const Value& value, const char* callee) {
  value.require_defined();
  const auto whole = value.integer();
  if (!whole) throw Failure(std::string(callee) + "() needs an integer, not " + type_name(value));
  return *whole;
}

inline bool given(const Value* value) { return value && !value->is_none(); }
inline bool truth_or(const Value* value, bool fallback) { return value ? truth(*value) : fallback; }
inline int64_t integer_or(const Value* value, int64_t fallback, const char* callee) {
  return value ? integer_of(*value, callee) : fallback;
}

/// `width` spaces or other fill; refused when too long.
std::string fill(Budget& budget, int64_t width, std::string_view piece = " ");
/// The lines of a text, without their ends, as str.splitlines().
std::vector<std::string> split_lines(std::string_view text, bool keep_ends = false);
/// str.strip(): of white space, or of the characters in `chars`.
std::string strip(std::string_view text, const Value* chars, bool left, bool right, const char* callee);
/// str.replace(); count < 0 replaces all.
std::string replace(Budget& budget, const std::string& text, const std::string& from, const std::string& to,
                    int64_t count);
std::string center(Budget& budget, const std::string& text, int64_t width, std::string_view piece = " ");
bool is_upper_text(std::string_view text);  ///< str.isupper()
bool is_lower_text(std::string_view text);  ///< str.islower()
/// str.split() on white space.
std::vector<std::string> split_space(std::string_view text, int64_t limit = -1);

}  // namespace terrace::text::jinja
