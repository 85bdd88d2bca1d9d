// The methods of strings that trim, fill, replace, change case and classify.
#include <unordered_map>

#include "text/jinja/arguments.h"
#include "text/jinja/methods.h"
#include "text/jinja/utf8.h"

namespace terrace::text::jinja {

std::string fill(Budget& budget, int64_t width, std::string_view piece) {
  if (width <= 0) return {};
  budget.allocate(static_cast<size_t>(width), piece.size());
  std::string text;
  for (int64_t i = 0; i < width; ++i) text += piece;
  return text;
}

std::vector<std::string> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string> lines;
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const auto point = utf8::decode(text.substr(at));
    size_t end = at + point.size;
    if (utf8::is_line_break(point.code)) {
      if (point.code == '\r' && end < text.size() && text[end] == '\n') ++end;
      lines.emplace_back(text.substr(start, (keep_ends ? end : at) - start));
      start = end;
    }
    at = end;
  }
  if (start < text.size()) lines.emplace_back(text.substr(start));
  return lines;
}

std::string strip(std::string_view text, const Value* chars, bool left, bool right, const char* callee) {
  if (!given(chars)) {
    if (left) text.remove_prefix(utf8::leading_space(text));
    if (right) text.remove_suffix(utf8::trailing_space(text));
    return std::string(text);
  }
  const std::string_view set = string_of(*chars, callee);
  const auto in_set = [&](std::string_view character) {
    for (size_t at = 0; at < set.size();) {
      const size_t size = utf8::decode(set.substr(at)).size;
      if (set.substr(at, size) == character) return true;
      at += size;
    }
    return false;
  };
  const auto offsets = utf8::offsets(text);
  size_t first = 0;
  size_t last = offsets.size() - 1;
  const auto character = [&](size_t i) { return text.substr(offsets[i], offsets[i + 1] - offsets[i]); };
  while (left && first < last && in_set(character(first))) ++first;
  while (right && last > first && in_set(character(last - 1))) --last;
  return std::string(text.substr(offsets[first], offsets[last] - offsets[first]));
}

std::string replace(Budget& budget, const std::string& text, const std::string& from, const std::string& to,
                    int64_t count) {
  budget.step(text.size() / 16 + 1);
  const auto limit = count < 0 ? SIZE_MAX : static_cast<size_t>(count);
  std::string out;
  size_t at = 0;
  if (from.empty()) {
    size_t done = 0;
    for (; done < limit && at < text.size(); ++done) {
      const size_t size = utf8::decode(std::string_view(text).substr(at)).size;
      out += to;
      out += std::string_view(text).substr(at, size);
      budget.check_length(out.size());
      at += size;
    }
    if (done < limit) out += to;
    out += std::string_view(text).substr(at);
  } else {
    for (size_t done = 0; done < limit; ++done) {
      const size_t found = text.find(from, at);
      if (found == std::string::npos) break;
      out += std::string_view(text).substr(at, found - at);
      out += to;
      budget.check_length(out.size());
      at = found + from.size();
    }
    out += std::string_view(text).substr(at);
  }
  budget.allocate(out.size());
  return out;
}

std::string center(Budget& budget, const std::string& text, int64_t width, std::string_view piece) {
  const auto length = static_cast<int64_t>(utf8::length(text));
  const int64_t missing = width - length;
  if (missing <= 0) return text;
  // CPython puts the odd space on the left when both the padding and the width are odd.
  const int64_t left = missing / 2 + (missing & width & 1);
  return fill(budget, left, piece) + text + fill(budget, missing - left, piece);
}

namespace {

Value stripped(Interpreter& interpreter, const Value& self, const Arguments& arguments, const char* name, bool left,
               bool right) {
  const auto a = bind(name, arguments, {"chars"});
  interpreter.budget().step(self.string().size() / 64 + 1);
  interpreter.budget().allocate(self.string().size());
  return Value(strip(self.string(), a[0], left, right, name));
}

Value strip_both(Interpreter& i, const Value& self, const Arguments& a) {
  return stripped(i, self, a, "strip", true, true);
}
Value lstrip(Interpreter& i, const Value& self, const Arguments& a) {
  return stripped(i, self, a, "lstrip", true, false);
}
Value rstrip(Interpreter& i, const Value& self, const Arguments& a) {
  return stripped(i, self, a, "rstrip", false, true);
}

Value replace_method(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("replace", arguments, {"old", "new", "count"}, 2);
  return Value(replace(interpreter.budget(), self.string(), string_of(*a[0], "replace"), string_of(*a[1], "replace"),
                       integer_or(a[2], -1, "replace")));
}

template <std::string (*change)(std::string_view)>
Value changed(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  bind("the method", arguments, {});
  interpreter.budget().step(self.string().size() / 16 + 1);
  interpreter.budget().allocate(self.string().size());
  return Value(change(self.string()));
}

std::string_view fill_character(const Value* value, const char* name) {
  if (!value) return " ";
  const std::string& piece = string_of(*value, name);
  if (utf8::length(piece) != 1) throw Failure(std::string(name) + "() fills with one character");
  return piece;
}

Value center_method(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("center", arguments, {"width", "fillchar"}, 1);
  return Value(
      center(interpreter.budget(), self.string(), integer_of(*a[0], "center"), fill_character(a[1], "center")));
}

Value justify(Interpreter& interpreter, const Value& self, const Arguments& arguments, const char* name,
              bool text_first) {
  const auto a = bind(name, arguments, {"width", "fillchar"}, 1);
  const std::string padding =
      fill(interpreter.budget(), integer_of(*a[0], name) - static_cast<int64_t>(utf8::length(self.string())),
           fill_character(a[1], name));
  return Value(text_first ? self.string() + padding : padding + self.string());
}

Value ljust(Interpreter& i, const Value& self, const Arguments& a) { return justify(i, self, a, "ljust", true); }
Value rjust(Interpreter& i, const Value& self, const Arguments& a) { return justify(i, self, a, "rjust", false); }

Value zfill(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("zfill", arguments, {"width"}, 1);
  const std::string& text = self.string();
  const size_t sign = !text.empty() && (text[0] == '+' || text[0] == '-') ? 1 : 0;
  const int64_t missing = integer_of(*a[0], "zfill") - static_cast<int64_t>(utf8::length(text));
  return Value(text.substr(0, sign) + fill(interpreter.budget(), missing, "0") + text.substr(sign));
}

Value removeprefix(Interpreter&, const Value& self, const Arguments& arguments) {
  const auto a = bind("removeprefix", arguments, {"prefix"}, 1);
  const std::string& edge = string_of(*a[0], "removeprefix");
  return self.string().starts_with(edge) ? Value(self.string().substr(edge.size())) : self;
}

Value removesuffix(Interpreter&, const Value& self, const Arguments& arguments) {
  const auto a = bind("removesuffix", arguments, {"suffix"}, 1);
  const std::string& edge = string_of(*a[0], "removesuffix");
  return self.string().ends_with(edge) ? Value(self.string().substr(0, self.string().size() - edge.size())) : self;
}

template <bool (*is)(int32_t)>
Value all_are(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  bind("the method", arguments, {});
  const std::string_view text = self.string();
  interpreter.budget().step(text.size() / 16 + 1);
  for (size_t at = 0; at < text.size();) {
    const auto point = utf8::decode(text.substr(at));
    if (!is(point.code)) return Value(false);
    at += point.size;
  }
  return Value(!text.empty());
}

bool is_alphanumeric(int32_t code) { return utf8::is_alpha(code) || utf8::is_numeric(code); }
bool is_ascii(int32_t code) { return code >= 0 && code < 128; }

Value isascii(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  return self.string().empty() ? Value(true) : all_are<is_ascii>(interpreter, self, arguments);
}

template <bool (*is)(std::string_view)>
Value has_case(Interpreter&, const Value& self, const Arguments& arguments) {
  bind("the method", arguments, {});
  return Value(is(self.string()));
}

bool is_titled(std::string_view text) {
  bool any = false;
  bool after_cased = false;
  for (size_t at = 0; at < text.size();) {
    const auto point = utf8::decode(text.substr(at));
    const bool upper = utf8::is_upper(point.code);
    const bool lower = utf8::is_lower(point.code);
    if ((upper && after_cased) || (lower && !after_cased)) return false;
    after_cased = upper || lower;
    any = any || after_cased;
    at += point.size;
  }
  return any;
}

}  // namespace

bool is_upper_text(std::string_view text) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const auto point = utf8::decode(text.substr(at));
    if (utf8::is_lower(point.code)) return false;
    any = any || utf8::is_upper(point.code);
    at += point.size;
  }
  return any;
}

bool is_lower_text(std::string_view text) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const auto point = utf8::decode(text.substr(at));
    if (utf8::is_upper(point.code)) return false;
    any = any || utf8::is_lower(point.code);
    at += point.size;
  }
  return any;
}

Function find_text_method(std::string_view name) {
  static const std::unordered_map<std::string_view, Function> kMethods = {
      {"strip", strip_both},
      {"lstrip", lstrip},
      {"rstrip", rstrip},
      {"replace", replace_method},
      {"upper", changed<utf8::upper>},
      {"lower", changed<utf8::lower>},
      {"casefold", changed<utf8::lower>},
      {"title", changed<utf8::title>},
      {"capitalize", changed<utf8::capitalize>},
      {"swapcase", changed<utf8::swapcase>},
      {"center", center_method},
      {"ljust", ljust},
      {"rjust", rjust},
      {"zfill", zfill},
      {"removeprefix", removeprefix},
      {"removesuffix", removesuffix},
      {"isalpha", all_are<utf8::is_alpha>},
      {"isalnum", all_are<is_alphanumeric>},
      {"isdigit", all_are<utf8::is_digit>},
      {"isdecimal", all_are<utf8::is_decimal>},
      {"isnumeric", all_are<utf8::is_numeric>},
      {"isspace", all_are<utf8::is_space>},
      {"isascii", isascii},
      {"isupper", has_case<is_upper_text>},
      {"islower", has_case<is_lower_text>},
      {"istitle", has_case<is_titled>},
  };
  const auto at = kMethods.find(name);
  return at == kMethods.end() ? nullptr : at->second;
}

}  // namespace terrace::text::jinja
