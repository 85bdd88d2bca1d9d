#include "text/jinja/format.h"

#include <cmath>
#include <cstdio>

#include "text/jinja/literals.h"
#include "text/jinja/utf8.h"

namespace terrace::text::jinja {
namespace {

struct Spec {
  std::string fill = " ";
  char align = '\0';  ///< < > = ^
  char sign = '-';
  bool alternate = false, grouped = false;
  size_t width = 0;
  int precision = -1;
  char type = '\0';
};

constexpr int kMaxPrecision = 1000;

std::string pad(Budget& budget, const Spec& spec, const std::string& prefix, const std::string& body,
                char default_align) {
  const size_t length = utf8::length(prefix) + utf8::length(body);
  if (length >= spec.width) return prefix + body;
  const size_t missing = spec.width - length;
  budget.allocate(missing, spec.fill.size());
  const auto filled = [&](size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += spec.fill;
    return text;
  };
  switch (spec.align ? spec.align : default_align) {
    case '<':
      return prefix + body + filled(missing);
    case '^':
      return filled(missing / 2) + prefix + body + filled(missing - missing / 2);
    case '=':
      return prefix + filled(missing) + body;
    default:
      return filled(missing) + prefix + body;
  }
}

std::string group_thousands(const std::string& digits) {
  const size_t whole = std::min(digits.find_first_not_of("0123456789"), digits.size());
  std::string out;
  for (size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out + digits.substr(whole);
}

std::string sign_of(bool negative, const Spec& spec) {
  return negative ? "-" : spec.sign == '-' ? "" : std::string(1, spec.sign);
}

std::string format_integer(Budget& budget, int64_t value, const Spec& spec) {
  const bool negative = value < 0;
  uint64_t rest = negative ? 0 - static_cast<uint64_t>(value) : static_cast<uint64_t>(value);
  const char type = spec.type ? spec.type : 'd';
  const unsigned base = type == 'x' || type == 'X' ? 16 : type == 'o' ? 8 : type == 'b' ? 2 : 10;
  std::string digits;
  do {
    digits.insert(digits.begin(), (type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef")[rest % base]);
    rest /= base;
  } while (rest != 0);
  if (spec.precision > static_cast<int>(digits.size()))
    digits.insert(0, static_cast<size_t>(spec.precision) - digits.size(), '0');
  if (spec.grouped) digits = group_thousands(digits);
  std::string prefix = sign_of(negative, spec);
  if (spec.alternate && base != 10) prefix += std::string("0") + type;
  return pad(budget, spec, prefix, digits, '>');
}

std::string format_real(Budget& budget, double value, const Spec& spec) {
  const bool negative = std::signbit(value) && !std::isnan(value);
  const double size = std::abs(value);
  std::string digits;
  if (std::isnan(size) || std::isinf(size)) {
    digits = std::isnan(size) ? "nan" : "inf";
  } else if (spec.type == '\0' && spec.precision < 0) {
    digits = format_float(size);
  } else {
    const char type = spec.type == '%' ? 'f' : spec.type ? spec.type : 'g';
    const char pattern[] = {'%',
                            spec.alternate ? '#' : '.',
                            spec.alternate ? '.' : '*',
                            spec.alternate ? '*' : type,
                            spec.alternate ? type : '\0',
                            '\0'};
    char buffer[kMaxPrecision + 400];
    std::snprintf(buffer, sizeof buffer, pattern, spec.precision < 0 ? 6 : spec.precision,
                  spec.type == '%' ? size * 100 : size);
    digits = buffer;
    if (spec.type == '\0' && digits.find_first_not_of("0123456789") == std::string::npos) digits += ".0";
  }
  if (spec.grouped) digits = group_thousands(digits);
  if (spec.type == '%') digits += '%';
  return pad(budget, spec, sign_of(negative, spec), digits, '>');
}

std::string cut(const std::string& text, int precision) {
  if (precision < 0) return text;
  const auto offsets = utf8::offsets(text);
  const auto count = static_cast<size_t>(precision);
  return count + 1 >= offsets.size() ? text : text.substr(0, offsets[count]);
}

bool is_one_of(char c, const char* set) { return c != '\0' && std::string_view(set).find(c) != std::string_view::npos; }

size_t parse_count(const std::string& text, size_t& at) {
  size_t count = 0;
  while (at < text.size() && text[at] >= '0' && text[at] <= '9') {
    count = count * 10 + static_cast<size_t>(text[at++] - '0');
    if (count > (size_t{1} << 31)) throw Failure("a format has too large a width");
  }
  return count;
}

int parse_precision(const std::string& text, size_t& at) {
  const size_t precision = parse_count(text, at);
  if (precision > kMaxPrecision) throw Failure("a format's precision is limited to " + std::to_string(kMaxPrecision));
  return static_cast<int>(precision);
}

std::string format_number(Interpreter& interpreter, const Value& value, Spec spec) {
  value.require_defined();
  const std::string wrong = "the format '" + std::string(1, spec.type) + "' does not work on " + type_name(value);
  if (is_one_of(spec.type, "eEfFgG")) {
    if (!value.number()) throw Failure(wrong);
    return format_real(interpreter.budget(), *value.number(), spec);
  }
  if (value.is_float() && is_one_of(spec.type, "diu")) {
    if (!std::isfinite(value.floating()) || std::abs(value.floating()) >= 9.2e18)
      throw Failure("a float is too large for %d");
    spec.type = 'd';
    return format_integer(interpreter.budget(), static_cast<int64_t>(value.floating()), spec);
  }
  if (!value.integer()) throw Failure(wrong);
  if (is_one_of(spec.type, "iu")) spec.type = 'd';
  return format_integer(interpreter.budget(), *value.integer(), spec);
}

std::string format_value(Interpreter& interpreter, const Value& value, const std::string& text) {
  if (text.empty()) return interpreter.str(value);
  Spec spec;
  size_t at = 0;
  const size_t fill = utf8::decode(text).size;
  if (fill < text.size() && is_one_of(text[fill], "<>=^")) {
    spec.fill = text.substr(0, fill);
    spec.align = text[fill];
    at = fill + 1;
  } else if (is_one_of(text[0], "<>=^")) {
    spec.align = text[at++];
  }
  if (at < text.size() && is_one_of(text[at], "+- ")) spec.sign = text[at++];
  if (at < text.size() && text[at] == '#') spec.alternate = ++at != 0;
  if (at < text.size() && text[at] == '0') {
    ++at;
    if (!spec.align) {
      spec.fill = "0";
      spec.align = value.is_number() ? '=' : '<';
    }
  }
  spec.width = parse_count(text, at);
  if (at < text.size() && text[at] == ',') spec.grouped = ++at != 0;
  if (at < text.size() && text[at] == '.') spec.precision = parse_precision(text, ++at);
  if (at < text.size()) spec.type = text[at++];
  if (at != text.size()) throw Failure("the format " + quote(text) + " is not valid");
  if (value.is_string()) {
    if ((spec.type && spec.type != 's') || spec.align == '=')
      throw Failure("the format " + quote(text) + " does not work on a string");
    return pad(interpreter.budget(), spec, "", cut(interpreter.str(value), spec.precision), '<');
  }
  if (value.is_float()) {
    if (spec.type && !is_one_of(spec.type, "eEfFgG%"))
      throw Failure("the format " + quote(text) + " does not work on a float");
    return format_real(interpreter.budget(), value.floating(), spec);
  }
  if (value.integer()) {
    if (is_one_of(spec.type, "eEfFgG%")) return format_real(interpreter.budget(), *value.number(), spec);
    if ((spec.type && !is_one_of(spec.type, "dxXob")) || spec.precision >= 0) {
      throw Failure("the format " + quote(text) + " does not work on an int");
    }
    return format_integer(interpreter.budget(), *value.integer(), spec);
  }
  throw Failure("the format " + quote(text) + " does not work on " + type_name(value));
}

}  // namespace

std::string format_percent(Interpreter& interpreter, const std::string& format, const Value& values) {
  std::vector<Value> list;
  if (values.is_tuple()) {
    list = values.sequence()->items;
  } else {
    list.push_back(values);
  }
  size_t used = 0;
  bool by_name = false;
  const auto take = [&]() -> Value {
    if (used >= list.size()) throw Failure("a format needs more values than it has");
    return list[used++];
  };
  std::string out;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    ++at;
    if (at < format.size() && format[at] == '%') {
      out += format[at++];
      continue;
    }
    std::optional<Value> named;
    if (at < format.size() && format[at] == '(') {
      const size_t close = format.find(')', at);
      if (close == std::string::npos || !values.is_dict()) throw Failure("a format's name needs a dictionary");
      const Value* found = values.dict()->find(std::string_view(format).substr(at + 1, close - at - 1));
      if (!found) throw Failure("a format names a missing key " + quote(format.substr(at + 1, close - at - 1)));
      named = *found;
      by_name = true;
      at = close + 1;
    }
    Spec spec;
    bool left = false, zero = false;
    for (; at < format.size() && is_one_of(format[at], "-+ #0"); ++at) {
      left |= format[at] == '-';
      zero |= format[at] == '0';
      spec.alternate |= format[at] == '#';
      if (format[at] == '+' || (format[at] == ' ' && spec.sign != '+')) spec.sign = format[at];
    }
    const auto star = [&](bool is_width) {
      ++at;
      const Value count = take();
      if (!count.integer()) throw Failure("a format's '*' needs an integer");
      left |= is_width && *count.integer() < 0;
      return std::to_string(std::abs(std::clamp<int64_t>(*count.integer(), -(int64_t{1} << 31), int64_t{1} << 31)));
    };
    size_t zero_at = 0;
    spec.width = at < format.size() && format[at] == '*' ? parse_count(star(true), zero_at) : parse_count(format, at);
    if (at < format.size() && format[at] == '.') {
      ++at;
      zero_at = 0;
      spec.precision =
          at < format.size() && format[at] == '*' ? parse_precision(star(false), zero_at) : parse_precision(format, at);
    }
    if (at >= format.size()) throw Failure("a format ends too early");
    spec.type = format[at++];
    const Value value = named ? *named : take();
    spec.align = left ? '<' : '>';
    if (spec.type == 's' || spec.type == 'r' || spec.type == 'a') {
      const std::string text = spec.type == 's' ? interpreter.str(value) : repr(value, interpreter.budget());
      out += pad(interpreter.budget(), spec, "", cut(text, spec.precision), '>');
    } else if (spec.type == 'c') {
      std::string text;
      if (value.is_string() && utf8::length(value.string()) == 1) {
        text = value.string();
      } else if (value.integer() && *value.integer() >= 0 && *value.integer() <= 0x10FFFF) {
        utf8::append(text, static_cast<int32_t>(*value.integer()));
      } else {
        throw Failure("%c needs a character");
      }
      out += pad(interpreter.budget(), spec, "", text, '>');
    } else if (is_one_of(spec.type, "diuxXoeEfFgG")) {
      if (zero && !left) {
        spec.fill = "0";
        spec.align = '=';
      }
      out += format_number(interpreter, value, spec);
    } else {
      throw Failure("a format has the unknown type '" + std::string(1, spec.type) + "'");
    }
    interpreter.budget().check_length(out.size());
  }
  // Python lets whatever has items be used in part.
  const bool has_items =
      by_name || values.is_dict() || values.is_undefined() || (values.is_sequence() && !values.is_tuple());
  if (used < list.size() && !has_items) throw Failure("a format did not use all of its values");
  interpreter.budget().allocate(out.size());
  return out;
}

namespace {

class BraceFormatter {
 public:
  BraceFormatter(Interpreter& interpreter, const Arguments& arguments)
      : interpreter_(interpreter), arguments_(arguments) {}

  std::string run(const std::string& format, int depth) {
    if (depth > 2) throw Failure("a format nests too many fields");
    std::string out;
    for (size_t at = 0; at < format.size();) {
      const char c = format[at];
      if ((c == '{' || c == '}') && at + 1 < format.size() && format[at + 1] == c) {
        out += c;
        at += 2;
      } else if (c == '{') {
        const size_t close = field_end(format, at);
        out += field(format.substr(at + 1, close - at - 1), depth);
        at = close + 1;
      } else if (c == '}') {
        throw Failure("a format has a single '}'");
      } else {
        out += c;
        ++at;
      }
      interpreter_.budget().check_length(out.size());
    }
    interpreter_.budget().allocate(out.size());
    return out;
  }

 private:
  static size_t field_end(const std::string& format, size_t at) {
    int depth = 0;
    for (size_t i = at; i < format.size(); ++i) {
      if (format[i] == '{') ++depth;
      if (format[i] == '}' && --depth == 0) return i;
    }
    throw Failure("a format has a field without end");
  }

  std::string field(const std::string& text, int depth) {
    size_t name_end = std::min(text.find_first_of("!:"), text.size());
    const size_t bracket = text.find('[');
    if (bracket < name_end) name_end = std::min(text.find_first_of("!:", text.find(']', bracket)), text.size());
    Value value = lookup(text.substr(0, name_end));
    size_t at = name_end;
    if (at < text.size() && text[at] == '!') {
      const char conversion = at + 1 < text.size() ? text[at + 1] : '\0';
      if (conversion != 's' && conversion != 'r' && conversion != 'a')
        throw Failure("a format has an unknown conversion");
      value = Value(conversion == 's' ? interpreter_.str(value) : repr(value, interpreter_.budget()));
      at += 2;
      if (at < text.size() && text[at] != ':') throw Failure("a format has text after its conversion");
    }
    const std::string spec = at < text.size() ? text.substr(at + 1) : "";
    return format_value(interpreter_, value, spec.find('{') == std::string::npos ? spec : run(spec, depth + 1));
  }

  Value lookup(const std::string& path) {
    size_t at = std::min(path.find_first_of(".["), path.size());
    Value value = first(path.substr(0, at));
    while (at < path.size()) {
      if (path[at] == '.') {
        const size_t end = std::min(path.find_first_of(".[", at + 1), path.size());
        if (end == at + 1) throw Failure("a format has an empty attribute");
        value = interpreter_.get_attribute(value, path.substr(at + 1, end - at - 1));
        at = end;
      } else {
        const size_t close = path.find(']', at);
        if (path[at] != '[' || close == std::string::npos || close == at + 1) throw Failure("a format has a bad index");
        const std::string key = path.substr(at + 1, close - at - 1);
        int64_t index = 0;
        const bool digits = key.find_first_not_of("0123456789") == std::string::npos;
        value = interpreter_.get_item(value, digits && parse_integer(key, 10, index) ? Value(index) : Value(key));
        at = close + 1;
      }
    }
    return value;
  }

  Value first(const std::string& name) {
    int64_t index = 0;
    if (name.empty()) {
      if (numbered_) throw Failure("a format mixes numbered and automatic fields");
      automatic_ = true;
      index = next_++;
    } else if (name.find_first_not_of("0123456789") == std::string::npos) {
      if (automatic_) throw Failure("a format mixes numbered and automatic fields");
      numbered_ = true;
      parse_integer(name, 10, index);
    } else {
      for (const auto& [key, value] : arguments_.named) {
        if (key == name) return value;
      }
      throw Failure("a format names the missing value " + quote(name));
    }
    if (index >= static_cast<int64_t>(arguments_.positional.size()))
      throw Failure("a format needs more values than it has");
    return arguments_.positional[static_cast<size_t>(index)];
  }

  Interpreter& interpreter_;
  const Arguments& arguments_;
  int64_t next_ = 0;
  bool automatic_ = false, numbered_ = false;
};

}  // namespace

std::string format_braces(Interpreter& interpreter, const std::string& format, const Arguments& arguments) {
  return BraceFormatter(interpreter, arguments).run(format, 1);
}

}  // namespace terrace::text::jinja
