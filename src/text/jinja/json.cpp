#include "text/jinja/json.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "text/jinja/sorting.h"
#include "text/jinja/utf8.h"

namespace terrace::text::jinja {
namespace {

Value convert(const nlohmann::ordered_json& json, int depth) {
  if (depth > kMaxValueDepth) {
    throw Failure("the input is nested too deeply (limit " + std::to_string(kMaxValueDepth) + ")");
  }
  using Type = nlohmann::ordered_json::value_t;
  switch (json.type()) {
    case Type::boolean:
      return Value(json.get<bool>());
    case Type::number_integer:
      return Value(json.get<int64_t>());
    case Type::number_unsigned: {
      const auto number = json.get<uint64_t>();
      if (number > INT64_MAX) throw Failure("an integer of the input is beyond 64 bits: " + std::to_string(number));
      return Value(static_cast<int64_t>(number));
    }
    case Type::number_float:
      return Value(json.get<double>());
    case Type::string:
      return Value(json.get_ref<const std::string&>());
    case Type::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const auto& item : json) items.push_back(convert(item, depth + 1));
      return make_list(std::move(items));
    }
    case Type::object: {
      auto dict = std::make_shared<Dict>();
      for (const auto& [key, item] : json.items()) dict->set(std::string_view(key), convert(item, depth + 1));
      return Value(std::move(dict));
    }
    default:
      return Value(None{});
  }
}

class Writer {
 public:
  Writer(const JsonStyle& style, Budget& budget) : style_(style), budget_(budget) {}

  std::string run(const Value& value) {
    write(value, 0);
    budget_.allocate(out_.size());
    return std::move(out_);
  }

 private:
  void write(const Value& value, int level) {
    budget_.step();
    budget_.check_length(out_.size());
    if (value.is_string()) {
      write_string(value.string());
    } else if (value.is_list() || value.is_tuple()) {
      write_list(value.sequence()->items, level);
    } else if (value.is_dict()) {
      write_dict(*value.dict(), level);
    } else {
      out_ += scalar(value);
    }
  }

  std::string scalar(const Value& value) const {
    if (value.is_none()) return "null";
    if (value.is_bool()) return value.boolean() ? "true" : "false";
    if (value.is_integer()) return std::to_string(*value.integer());
    if (!value.is_float()) throw Failure("a value of type " + type_name(value) + " cannot be written as JSON");
    if (std::isnan(value.floating())) return "NaN";
    if (std::isinf(value.floating())) return value.floating() > 0 ? "Infinity" : "-Infinity";
    return format_float(value.floating());
  }

  void new_line(int level) {
    if (!style_.indent) return;
    out_ += '\n';
    for (int i = 0; i < level; ++i) out_ += *style_.indent;
    budget_.check_length(out_.size());
  }

  void write_list(const std::vector<Value>& items, int level) {
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    bool first = true;
    for (const Value& item : items) {
      if (!first) out_ += style_.item_separator;
      first = false;
      new_line(level + 1);
      write(item, level + 1);
    }
    new_line(level);
    out_ += ']';
  }

  void write_dict(const Dict& dict, int level) {
    if (dict.items.empty()) {
      out_ += "{}";
      return;
    }
    std::vector<const std::pair<Value, Value>*> items;
    for (const auto& item : dict.items) items.push_back(&item);
    if (style_.sort_keys) {
      sort_stably(items, [&](const auto* a, const auto* b) { return compare(a->first, b->first, budget_) < 0; });
    }
    out_ += '{';
    bool first = true;
    for (const auto* item : items) {
      if (!first) out_ += style_.item_separator;
      first = false;
      new_line(level + 1);
      write_string(item->first.is_string() ? item->first.string() : scalar(item->first));
      out_ += style_.key_separator;
      write(item->second, level + 1);
    }
    new_line(level);
    out_ += '}';
  }

  void escape(int32_t unit) {
    char buffer[16];
    std::snprintf(buffer, sizeof buffer, "\\u%04x", static_cast<unsigned>(unit));
    out_ += buffer;
  }

  void write_string(std::string_view text) {
    out_ += '"';
    for (size_t at = 0; at < text.size();) {
      const auto point = utf8::decode(text.substr(at));
      const int32_t code = point.code;
      switch (code) {
        case '"':
          out_ += "\\\"";
          break;
        case '\\':
          out_ += "\\\\";
          break;
        case '\n':
          out_ += "\\n";
          break;
        case '\r':
          out_ += "\\r";
          break;
        case '\t':
          out_ += "\\t";
          break;
        case '\b':
          out_ += "\\b";
          break;
        case '\f':
          out_ += "\\f";
          break;
        default:
          if ((code >= 0 && code < 0x20) || (style_.ascii && code >= 0x7F && code < 0x10000 && code != 0x7F)) {
            escape(code);
          } else if (style_.ascii && code >= 0x10000) {
            escape(0xD800 + ((code - 0x10000) >> 10));
            escape(0xDC00 + ((code - 0x10000) & 0x3FF));
          } else {
            out_ += text.substr(at, point.size);
          }
      }
      at += point.size;
    }
    out_ += '"';
    budget_.check_length(out_.size());
  }

  const JsonStyle& style_;
  Budget& budget_;
  std::string out_;
};

}  // namespace

Value from_json(const nlohmann::ordered_json& json) { return convert(json, 1); }

std::string to_json(const Value& value, const JsonStyle& style, Budget& budget) {
  return Writer(style, budget).run(value);
}

}  // namespace terrace::text::jinja
