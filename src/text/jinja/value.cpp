#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/jinja/utf8.h"

namespace terrace::text::jinja {

Value Value::undefined(std::string reason) {
  Value value;
  value.data_ = Undefined{std::make_shared<const std::string>(std::move(reason))};
  return value;
}

bool Value::is_list() const { return is_sequence() && sequence()->kind == SequenceKind::list; }
bool Value::is_tuple() const {
  return is_sequence() && (sequence()->kind == SequenceKind::tuple || sequence()->kind == SequenceKind::group);
}

std::optional<int64_t> Value::integer() const {
  if (is_bool()) return boolean() ? 1 : 0;
  if (is_integer()) return std::get<int64_t>(data_);
  return std::nullopt;
}

std::optional<double> Value::number() const {
  if (is_float()) return floating();
  if (const auto whole = integer()) return static_cast<double>(*whole);
  return std::nullopt;
}

void Value::require_defined() const {
  if (const auto* missing = std::get_if<Undefined>(&data_)) {
    throw Failure(missing->reason ? *missing->reason : "the value is undefined");
  }
}

namespace {

// Equal keys give the same text: 1, 1.0 and True are one key in Python.
void append_key(std::string& out, const Value& key, Budget& budget) {
  budget.step();
  budget.check_length(out.size());
  if (key.is_string()) {
    out += 's';
    out += std::to_string(key.string().size());
    out += ':';
    out += key.string();
  } else if (const auto whole = key.integer()) {
    out += 'i';
    out += std::to_string(*whole);
    out += ';';
  } else if (key.is_float()) {
    const double number = key.floating();
    if (number == std::floor(number) && std::abs(number) < 9e18) {
      out += 'i';
      out += std::to_string(static_cast<int64_t>(number));
    } else {
      out += 'f';
      out += format_float(number);
    }
    out += ';';
  } else if (key.is_none()) {
    out += 'n';
  } else if (key.is_tuple()) {
    out += '(';
    for (const Value& item : key.sequence()->items) append_key(out, item, budget);
    out += ')';
  } else if (key.is_undefined()) {
    out += 'u';
  } else if (key.is_object()) {
    out += 'o';
    out += std::to_string(reinterpret_cast<uintptr_t>(key.object().get()));
    out += ';';
  } else {
    throw Failure("a " + type_name(key) + " cannot be a dictionary key");
  }
}

std::string string_key(std::string_view text) {
  std::string key = "s" + std::to_string(text.size()) + ":";
  key += text;
  return key;
}

void insert(Dict& dict, std::string text, Value key, Value value) {
  dict.depth = std::max({dict.depth, depth_around(key), depth_around(value)});
  const auto [at, added] = dict.index.try_emplace(std::move(text), dict.items.size());
  if (added) {
    dict.items.emplace_back(std::move(key), std::move(value));
  } else {
    dict.items[at->second].second = std::move(value);
  }
}

}  // namespace

const Value* Dict::find(const Value& key, Budget& budget) const {
  std::string text;
  append_key(text, key, budget);
  const auto at = index.find(text);
  return at == index.end() ? nullptr : &items[at->second].second;
}

const Value* Dict::find(std::string_view key) const {
  const auto at = index.find(string_key(key));
  return at == index.end() ? nullptr : &items[at->second].second;
}

void Dict::set(Value key, Value value, Budget& budget) {
  std::string text;
  append_key(text, key, budget);
  insert(*this, std::move(text), std::move(key), std::move(value));
}

void Dict::set(std::string_view key, Value value) { insert(*this, string_key(key), Value(key), std::move(value)); }

Value Object::call(Interpreter&, Arguments) { throw Failure("the object is not callable"); }
std::optional<Value> Object::attribute(Interpreter&, std::string_view) { return std::nullopt; }

int depth_of(const Value& value) {
  if (value.is_sequence()) return value.sequence()->depth;
  if (value.is_dict()) return value.dict()->depth;
  if (value.is_object()) return value.object()->depth;
  return 0;
}

int depth_around(const Value& value) {
  const int depth = depth_of(value) + 1;
  if (depth > kMaxValueDepth) {
    throw Failure("values are nested too deeply (limit " + std::to_string(kMaxValueDepth) + ")");
  }
  return depth;
}

Value make_sequence(SequenceKind kind, std::vector<Value> items) {
  auto sequence = std::make_shared<Sequence>();
  sequence->kind = kind;
  for (const Value& item : items) sequence->depth = std::max(sequence->depth, depth_around(item));
  sequence->items = std::move(items);
  return Value(std::move(sequence));
}

Value make_range(int64_t start, int64_t stop, int64_t step) {
  if (step == 0) throw Failure("range() needs a step other than 0");
  const bool up = step > 0;
  const uint64_t span =
      up == (start < stop) ? static_cast<uint64_t>(up ? stop : start) - static_cast<uint64_t>(up ? start : stop) : 0;
  const uint64_t stride = up ? static_cast<uint64_t>(step) : 0 - static_cast<uint64_t>(step);
  const uint64_t count = span / stride + (span % stride != 0 ? 1 : 0);
  if (count > static_cast<uint64_t>(kMaxRange))
    throw Failure("range() is too long (limit " + std::to_string(kMaxRange) + " elements)");
  auto sequence = std::make_shared<Sequence>();
  sequence->kind = SequenceKind::range;
  sequence->start = start;
  sequence->stop = stop;
  sequence->step = step;
  for (uint64_t i = 0; i < count; ++i) {
    sequence->items.emplace_back(static_cast<int64_t>(static_cast<uint64_t>(start) + i * static_cast<uint64_t>(step)));
  }
  return Value(std::move(sequence));
}

std::string type_name(const Value& value) {
  if (value.is_undefined()) return "Undefined";
  if (value.is_none()) return "NoneType";
  if (value.is_bool()) return "bool";
  if (value.is_integer()) return "int";
  if (value.is_float()) return "float";
  if (value.is_string()) return "str";
  if (value.is_dict()) return "dict";
  if (value.is_object()) return "object";
  switch (value.sequence()->kind) {
    case SequenceKind::list:
      return "list";
    case SequenceKind::tuple:
    case SequenceKind::group:
      return "tuple";
    case SequenceKind::generator:
      return "generator";
    case SequenceKind::range:
      return "range";
    case SequenceKind::keys:
      return "dict_keys";
    case SequenceKind::values:
      return "dict_values";
    case SequenceKind::items:
      return "dict_items";
  }
  return "object";
}

bool truth(const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (const auto number = value.number()) return *number != 0;
  if (value.is_string()) return !value.string().empty();
  if (value.is_dict()) return !value.dict()->items.empty();
  if (value.is_sequence()) return value.sequence()->kind == SequenceKind::generator || !value.sequence()->items.empty();
  return true;
}

bool is_iterable(const Value& value) {
  return value.is_undefined() || value.is_string() || value.is_sequence() || value.is_dict();
}

std::optional<size_t> length_of(const Value& value) {
  if (value.is_undefined()) return 0;
  if (value.is_string()) return utf8::length(value.string());
  if (value.is_dict()) return value.dict()->items.size();
  if (value.is_sequence() && value.sequence()->kind != SequenceKind::generator) return value.sequence()->items.size();
  return std::nullopt;
}

std::vector<Value> elements(const Value& value, Budget& budget) {
  if (value.is_undefined()) return {};
  std::vector<Value> result;
  if (value.is_string()) {
    const std::string& text = value.string();
    budget.step(text.size() / 8 + 1);
    budget.allocate(text.size(), sizeof(Value));
    for (size_t at = 0; at < text.size();) {
      const size_t size = utf8::decode(std::string_view(text).substr(at)).size;
      result.emplace_back(text.substr(at, size));
      at += size;
    }
    return result;
  }
  if (value.is_dict()) {
    budget.step(value.dict()->items.size());
    budget.allocate(value.dict()->items.size(), sizeof(Value));
    for (const auto& [key, item] : value.dict()->items) result.push_back(key);
    return result;
  }
  if (!value.is_sequence()) throw Failure("a value of type " + type_name(value) + " cannot be iterated");
  Sequence& sequence = *value.sequence();
  budget.step(sequence.items.size() / 8 + 1);
  budget.allocate(sequence.items.size() - sequence.used, sizeof(Value));
  result.assign(sequence.items.begin() + static_cast<std::ptrdiff_t>(sequence.used), sequence.items.end());
  if (sequence.kind == SequenceKind::generator) sequence.used = sequence.items.size();
  return result;
}

namespace {

int compare_numbers(const Value& a, const Value& b, bool* unordered) {
  const auto x = a.integer();
  const auto y = b.integer();
  if (x && y) return *x < *y ? -1 : *x > *y;
  // long double holds every int64 exactly on x86-64; elsewhere the comparison is that of doubles.
  const long double u = x ? static_cast<long double>(*x) : static_cast<long double>(a.floating());
  const long double v = y ? static_cast<long double>(*y) : static_cast<long double>(b.floating());
  if (std::isnan(u) || std::isnan(v)) {
    if (unordered) *unordered = true;
    return 1;
  }
  return u < v ? -1 : u > v;
}

}  // namespace

bool equals(const Value& a, const Value& b, Budget& budget) {
  budget.step();
  if (a.is_number() && b.is_number()) {
    bool unordered = false;
    return compare_numbers(a, b, &unordered) == 0 && !unordered;
  }
  if (a.data().index() != b.data().index()) return false;
  if (a.is_undefined() || a.is_none()) return true;
  if (a.is_string()) return a.string() == b.string();
  if (a.is_object()) return a.object() == b.object();
  if (a.is_sequence()) {
    const Sequence& x = *a.sequence();
    const Sequence& y = *b.sequence();
    if (&x == &y) return true;
    if (type_name(a) != type_name(b) || x.kind == SequenceKind::generator || x.items.size() != y.items.size())
      return false;
    if (x.kind == SequenceKind::values) return false;
    for (size_t i = 0; i < x.items.size(); ++i) {
      if (!equals(x.items[i], y.items[i], budget)) return false;
    }
    return true;
  }
  const Dict& x = *a.dict();
  const Dict& y = *b.dict();
  if (&x == &y) return true;
  if (x.items.size() != y.items.size()) return false;
  for (const auto& [key, value] : x.items) {
    const Value* other = y.find(key, budget);
    if (!other || !equals(value, *other, budget)) return false;
  }
  return true;
}

int compare(const Value& a, const Value& b, Budget& budget, bool* unordered) {
  budget.step();
  a.require_defined();
  b.require_defined();
  if (a.is_number() && b.is_number()) return compare_numbers(a, b, unordered);
  // UTF-8 keeps the order of code points.
  if (a.is_string() && b.is_string()) return a.string().compare(b.string());
  if ((a.is_list() && b.is_list()) || (a.is_tuple() && b.is_tuple())) {
    const auto& x = a.sequence()->items;
    const auto& y = b.sequence()->items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!equals(x[i], y[i], budget)) return compare(x[i], y[i], budget, unordered);
    }
    return x.size() < y.size() ? -1 : x.size() > y.size();
  }
  throw Failure("values of type " + type_name(a) + " and " + type_name(b) + " have no order");
}

std::vector<const Value*> bind(std::string_view callee, const Arguments& arguments,
                               std::initializer_list<std::string_view> names, size_t required) {
  std::vector<const Value*> result(names.size(), nullptr);
  if (arguments.positional.size() > names.size()) {
    throw Failure(std::string(callee) + "() takes at most " + std::to_string(names.size()) + " arguments, not " +
                  std::to_string(arguments.positional.size()));
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) result[i] = &arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    size_t at = 0;
    while (at < names.size() && names.begin()[at] != name) ++at;
    if (at == names.size()) throw Failure(std::string(callee) + "() has no argument named " + quote(name));
    if (result[at]) throw Failure(std::string(callee) + "() got its argument " + quote(name) + " twice");
    result[at] = &value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!result[i]) throw Failure(std::string(callee) + "() needs its argument " + quote(names.begin()[i]));
  }
  return result;
}

}  // namespace terrace::text::jinja
