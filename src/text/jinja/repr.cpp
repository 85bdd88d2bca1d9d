// str() and repr() as Python writes them.
#include <charconv>
#include <cmath>
#include <cstdio>

#include "text/jinja/utf8.h"
#include "text/jinja/value.h"

namespace terrace::text::jinja {

std::string format_float(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  char buffer[64];
  const auto end = std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific).ptr;
  std::string text(buffer, end);
  std::string sign;
  if (text[0] == '-') {
    sign = "-";
    text.erase(0, 1);
  }
  const size_t e = text.find('e');
  const int exponent = std::stoi(text.substr(e + 1));
  std::string digits = text.substr(0, e);
  if (digits.size() > 1) digits.erase(1, 1);
  const int count = static_cast<int>(digits.size());
  // Python writes an exponent from 1e16 up and below 1e-4.
  if (exponent >= 16 || exponent < -4) {
    if (count > 1) digits.insert(1, ".");
    char tail[16];
    std::snprintf(tail, sizeof tail, "e%c%02d", exponent < 0 ? '-' : '+', std::abs(exponent));
    return sign + digits + tail;
  }
  if (exponent < 0) return sign + "0." + std::string(static_cast<size_t>(-exponent - 1), '0') + digits;
  if (count <= exponent + 1) return sign + digits + std::string(static_cast<size_t>(exponent + 1 - count), '0') + ".0";
  digits.insert(static_cast<size_t>(exponent) + 1, ".");
  return sign + digits;
}

std::string quote(std::string_view text) {
  const char mark = text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, mark);
  char escape[16];
  for (size_t at = 0; at < text.size();) {
    const auto point = utf8::decode(text.substr(at));
    const int32_t code = point.code;
    if (code < 0) {
      // Python holds a stray byte as a lone surrogate.
      std::snprintf(escape, sizeof escape, "\\udc%02x", static_cast<unsigned char>(text[at]));
      out += escape;
    } else if (code == mark || code == '\\') {
      out += '\\';
      out += static_cast<char>(code);
    } else if (code == '\n') {
      out += "\\n";
    } else if (code == '\r') {
      out += "\\r";
    } else if (code == '\t') {
      out += "\\t";
    } else if (utf8::is_printable(code)) {
      out += text.substr(at, point.size);
    } else {
      std::snprintf(escape, sizeof escape,
                    code < 0x100     ? "\\x%02x"
                    : code < 0x10000 ? "\\u%04x"
                                     : "\\U%08x",
                    static_cast<unsigned>(code));
      out += escape;
    }
    at += point.size;
  }
  return out + mark;
}

namespace {

void append_items(std::string& out, const std::vector<Value>& items, Budget& budget) {
  bool first = true;
  for (const Value& item : items) {
    if (!first) out += ", ";
    first = false;
    append_repr(out, item, budget);
  }
}

void append_sequence(std::string& out, const Sequence& sequence, Budget& budget) {
  switch (sequence.kind) {
    case SequenceKind::list:
      out += '[';
      append_items(out, sequence.items, budget);
      out += ']';
      return;
    case SequenceKind::tuple:
    case SequenceKind::group:
      out += '(';
      append_items(out, sequence.items, budget);
      out += sequence.items.size() == 1 ? ",)" : ")";
      return;
    case SequenceKind::range:
      out += "range(" + std::to_string(sequence.start) + ", " + std::to_string(sequence.stop);
      if (sequence.step != 1) out += ", " + std::to_string(sequence.step);
      out += ')';
      return;
    case SequenceKind::generator:
      out += "<generator>";
      return;
    case SequenceKind::keys:
      out += "dict_keys([";
      break;
    case SequenceKind::values:
      out += "dict_values([";
      break;
    case SequenceKind::items:
      out += "dict_items([";
      break;
  }
  append_items(out, sequence.items, budget);
  out += "])";
}

}  // namespace

void append_repr(std::string& out, const Value& value, Budget& budget) {
  budget.step();
  budget.check_length(out.size());
  if (value.is_string()) {
    out += quote(value.string());
  } else if (value.is_sequence()) {
    append_sequence(out, *value.sequence(), budget);
  } else if (value.is_dict()) {
    out += '{';
    bool first = true;
    for (const auto& [key, item] : value.dict()->items) {
      if (!first) out += ", ";
      first = false;
      append_repr(out, key, budget);
      out += ": ";
      append_repr(out, item, budget);
    }
    out += '}';
  } else if (value.is_undefined()) {
    out += "Undefined";
  } else {
    out += to_str(value, budget);
  }
}

std::string repr(const Value& value, Budget& budget) {
  std::string out;
  append_repr(out, value, budget);
  budget.allocate(out.size());
  return out;
}

std::string to_str(const Value& value, Budget& budget) {
  if (value.is_string()) return value.string();
  if (value.is_undefined()) return {};
  if (value.is_none()) return "None";
  if (value.is_bool()) return value.boolean() ? "True" : "False";
  if (value.is_integer()) return std::to_string(*value.integer());
  if (value.is_float()) return format_float(value.floating());
  if (value.is_object()) return value.object()->repr(budget);
  return repr(value, budget);
}

}  // namespace terrace::text::jinja
