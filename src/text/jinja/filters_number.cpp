#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unordered_map>

#include "text/jinja/arguments.h"
#include "text/jinja/filters.h"
#include "text/jinja/json.h"
#include "text/jinja/literals.h"
#include "text/jinja/sorting.h"

namespace terrace::text::jinja {
namespace {

double number_of(const Value& value, const char* name) {
  value.require_defined();
  if (!value.number()) throw Failure(std::string(name) + " needs a number, not " + type_name(value));
  return *value.number();
}

Value absolute(Interpreter&, const Value& self, const Arguments& arguments) {
  bind("abs", arguments, {});
  const double number = number_of(self, "abs");
  if (self.is_float()) return Value(std::abs(number));
  const Value negative = apply_unary(Operator::negate, self);
  return *self.integer() < 0 ? negative : Value(*self.integer());
}

Value truncated(double number) {
  if (std::abs(number) >= 9.2e18) throw Failure("a float is too large for an integer");
  return Value(static_cast<int64_t>(number));
}

Value to_int(Interpreter&, const Value& self, const Arguments& arguments) {
  const auto a = bind("int", arguments, {"default", "base"});
  self.require_defined();
  const Value fallback = a[0] ? *a[0] : Value(int64_t{0});
  if (self.is_string()) {
    int64_t whole = 0;
    double number = 0;
    if (parse_integer(self.string(), integer_or(a[1], 10, "int"), whole)) return Value(whole);
    return parse_float(self.string(), number) && std::isfinite(number) ? truncated(number) : fallback;
  }
  if (const auto whole = self.integer()) return Value(*whole);
  if (!self.is_float() || std::isnan(self.floating())) return fallback;
  return truncated(self.floating());
}

Value to_float(Interpreter&, const Value& self, const Arguments& arguments) {
  const auto a = bind("float", arguments, {"default"});
  self.require_defined();
  double number = 0;
  if (self.is_string() && parse_float(self.string(), number)) return Value(number);
  if (const auto plain = self.number()) return Value(*plain);
  return a[0] ? *a[0] : Value(0.0);
}

Value round(Interpreter&, const Value& self, const Arguments& arguments) {
  const auto a = bind("round", arguments, {"precision", "method"});
  const int64_t precision = integer_or(a[0], 0, "round");
  const std::string method = a[1] ? string_of(*a[1], "round") : "common";
  const double number = number_of(self, "round");
  if (method == "ceil" || method == "floor") {
    const double scale = std::pow(10.0, static_cast<double>(precision));
    const double scaled = number * scale;
    if (!std::isfinite(scaled) || scale == 0) throw Failure("the number cannot be rounded");
    return Value((method == "ceil" ? std::ceil(scaled) : std::floor(scaled)) / scale);
  }
  if (method != "common") throw Failure("round knows the methods common, ceil and floor");
  if (!self.is_float()) {
    if (precision >= 0) return Value(*self.integer());
    if (precision < -18) return Value(int64_t{0});
    int64_t unit = 1;
    for (int64_t i = precision; i < 0; ++i) unit *= 10;
    const int64_t whole = *self.integer();
    int64_t rest = whole % unit;
    if (rest < 0) rest += unit;
    const bool up = rest > unit - rest || (rest == unit - rest && ((whole - rest) / unit) % 2 != 0);
    int64_t result = 0;
    if (__builtin_sub_overflow(whole, rest, &result) || (up && __builtin_add_overflow(result, unit, &result))) {
      throw Failure("an integer result is beyond 64 bits");
    }
    return Value(result);
  }
  if (!std::isfinite(number) || precision > 320) return self;
  if (precision >= 0) {
    char buffer[800];
    std::snprintf(buffer, sizeof buffer, "%.*f", static_cast<int>(precision), number);
    return Value(std::strtod(buffer, nullptr));
  }
  if (precision < -308) return Value(std::copysign(0.0, number));
  const double unit = std::pow(10.0, static_cast<double>(-precision));
  return Value(std::nearbyint(number / unit) * unit);
}

Value filesizeformat(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("filesizeformat", arguments, {"binary"});
  const bool binary = truth_or(a[0], false);
  double bytes = 0;
  if (self.is_string()) {
    if (!parse_float(self.string(), bytes)) throw Failure("filesizeformat needs a number");
  } else {
    bytes = number_of(self, "filesizeformat");
  }
  const double base = binary ? 1024 : 1000;
  if (bytes == 1) return Value("1 Byte");
  if (std::isnan(bytes)) throw Failure("filesizeformat needs a number");
  if (bytes < base) return Value(interpreter.str(truncated(bytes)) + " Bytes");
  static constexpr const char* kPrefixes = "kMGTPEZY";
  double unit = base;
  int i = 0;
  for (; i < 7 && bytes >= unit * base; ++i) unit *= base;
  char buffer[400];
  std::snprintf(buffer, sizeof buffer, "%.1f %c%sB", bytes / unit, binary && i == 0 ? 'K' : kPrefixes[i],
                binary ? "i" : "");
  return Value(buffer);
}

Value default_value(Interpreter&, const Value& self, const Arguments& arguments) {
  const auto a = bind("default", arguments, {"default_value", "boolean"});
  const bool replaced = self.is_undefined() || (truth_or(a[1], false) && !truth(self));
  return !replaced ? self : a[0] ? *a[0] : Value("");
}

Value attr(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("attr", arguments, {"name"}, 1);
  const std::string& name = string_of(*a[0], "attr");
  self.require_defined();
  // Only true attributes: a dictionary's items are none.
  if (self.is_dict()) {
    bool refused = false;
    if (!find_method(self, name, refused)) return Value::undefined("a dict has no attribute '" + name + "'");
  }
  return interpreter.get_attribute(self, name);
}

Value tojson(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  const auto a = bind("tojson", arguments, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = truth_or(a[0], false);
  style.sort_keys = truth_or(a[3], false);
  if (given(a[1])) {
    style.indent = a[1]->is_string() ? a[1]->string() : fill(interpreter.budget(), integer_of(*a[1], "tojson"));
    style.item_separator = ",";
  }
  if (given(a[2])) {
    const auto parts = elements(*a[2], interpreter.budget());
    if (parts.size() != 2) throw Failure("tojson needs two separators");
    style.item_separator = string_of(parts[0], "tojson");
    style.key_separator = string_of(parts[1], "tojson");
  }
  return Value(to_json(self, style, interpreter.budget()));
}

Value sorted_keys(const Value& value, Budget& budget) {
  if (value.is_list() || value.is_tuple()) {
    std::vector<Value> items;
    for (const Value& item : value.sequence()->items) items.push_back(sorted_keys(item, budget));
    return make_sequence(value.sequence()->kind, std::move(items));
  }
  if (!value.is_dict()) return value;
  std::vector<std::pair<Value, Value>> items = value.dict()->items;
  bool all_strings = true;
  for (const auto& [key, item] : items) all_strings = all_strings && key.is_string();
  if (all_strings) sort_stably(items, [](const auto& a, const auto& b) { return a.first.string() < b.first.string(); });
  auto dict = std::make_shared<Dict>();
  for (const auto& [key, item] : items) {
    budget.step();
    dict->set(key, sorted_keys(item, budget), budget);
  }
  return Value(std::move(dict));
}

Value pprint(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  bind("pprint", arguments, {});
  return Value(repr(sorted_keys(self, interpreter.budget()), interpreter.budget()));
}

}  // namespace

Function find_number_filter(std::string_view name) {
  static const std::unordered_map<std::string_view, Function> kFilters = {{"abs", absolute},
                                                                          {"int", to_int},
                                                                          {"float", to_float},
                                                                          {"round", round},
                                                                          {"filesizeformat", filesizeformat},
                                                                          {"default", default_value},
                                                                          {"d", default_value},
                                                                          {"attr", attr},
                                                                          {"tojson", tojson},
                                                                          {"pprint", pprint}};
  const auto at = kFilters.find(name);
  return at == kFilters.end() ? nullptr : at->second;
}

}  // namespace terrace::text::jinja
