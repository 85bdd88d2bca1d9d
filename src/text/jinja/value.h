// The values of a template, with Python's meaning: equality, order, truth, str() and repr().
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/limits.h"

namespace terrace::text::jinja {

class Value;
class Object;
class Interpreter;
struct Sequence;
struct Dict;

struct None {};
/// A name or attribute that does not exist. `reason` is what an error says when it is used.
struct Undefined {
  std::shared_ptr<const std::string> reason;
};
using StringPtr = std::shared_ptr<const std::string>;
using SequencePtr = std::shared_ptr<Sequence>;
using DictPtr = std::shared_ptr<Dict>;
using ObjectPtr = std::shared_ptr<Object>;

class Value {
 public:
  using Data = std::variant<Undefined, None, bool, int64_t, double, StringPtr, SequencePtr, DictPtr, ObjectPtr>;

  Value() = default;
  Value(None) : data_(None{}) {}
  Value(bool value) : data_(value) {}
  Value(int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(std::string value) : data_(std::make_shared<const std::string>(std::move(value))) {}
  Value(std::string_view value) : Value(std::string(value)) {}
  Value(const char* value) : Value(std::string(value)) {}
  Value(SequencePtr value) : data_(std::move(value)) {}
  Value(DictPtr value) : data_(std::move(value)) {}
  Value(ObjectPtr value) : data_(std::move(value)) {}
  static Value undefined(std::string reason);
  static Value from_size(size_t value) { return Value(static_cast<int64_t>(value)); }

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_integer() const { return std::holds_alternative<int64_t>(data_); }  ///< an int that is no bool
  bool is_float() const { return std::holds_alternative<double>(data_); }
  bool is_string() const { return std::holds_alternative<StringPtr>(data_); }
  bool is_sequence() const { return std::holds_alternative<SequencePtr>(data_); }
  bool is_dict() const { return std::holds_alternative<DictPtr>(data_); }
  bool is_object() const { return std::holds_alternative<ObjectPtr>(data_); }
  bool is_number() const { return is_bool() || is_integer() || is_float(); }
  bool is_list() const;
  bool is_tuple() const;

  const std::string& string() const { return *std::get<StringPtr>(data_); }
  const SequencePtr& sequence() const { return std::get<SequencePtr>(data_); }
  const DictPtr& dict() const { return std::get<DictPtr>(data_); }
  const ObjectPtr& object() const { return std::get<ObjectPtr>(data_); }
  double floating() const { return std::get<double>(data_); }
  bool boolean() const { return std::get<bool>(data_); }
  /// The integer of an int or bool.
  std::optional<int64_t> integer() const;
  /// The number of an int, bool or float.
  std::optional<double> number() const;

  const Data& data() const { return data_; }
  /// Throws the reason when this is undefined.
  void require_defined() const;

 private:
  Data data_;
};

enum class SequenceKind {
  list,
  tuple,
  group,
  generator,
  range,
  keys,
  values,
  items
};  ///< group: a tuple that groupby made

/// A list and everything that can be walked like one. Lists never change after they are made.
struct Sequence {
  SequenceKind kind = SequenceKind::list;
  std::vector<Value> items;
  size_t used = 0;  ///< of a generator: the elements already handed out
  int64_t start = 0, stop = 0, step = 1;
  int depth = 1;
};

/// A dictionary in insertion order.
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  std::unordered_map<std::string, size_t> index;
  int depth = 1;

  const Value* find(const Value& key, Budget& budget) const;
  const Value* find(std::string_view key) const;
  void set(Value key, Value value, Budget& budget);
  void set(std::string_view key, Value value);
};

/// Arguments of a call.
struct Arguments {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> named;
};

/// Whatever is neither data nor undefined: functions, macros, namespaces, loops.
class Object {
 public:
  virtual ~Object() = default;
  virtual bool callable() const { return true; }
  virtual Value call(Interpreter& interpreter, Arguments arguments);
  virtual std::optional<Value> attribute(Interpreter& interpreter, std::string_view name);
  virtual std::string repr(Budget& budget) const = 0;
  /// Drops the values it holds: called at the end of a render on objects that may hold themselves.
  virtual void clear() {}
  int depth = 1;
};

Value make_sequence(SequenceKind kind, std::vector<Value> items);
inline Value make_list(std::vector<Value> items) { return make_sequence(SequenceKind::list, std::move(items)); }
inline Value make_tuple(std::vector<Value> items) { return make_sequence(SequenceKind::tuple, std::move(items)); }
Value make_range(int64_t start, int64_t stop, int64_t step);

int depth_of(const Value& value);
/// 1 + the depth of `value`, or a Failure when that is too deep.
int depth_around(const Value& value);

/// Python's name of the type, for messages.
std::string type_name(const Value& value);
bool truth(const Value& value);
std::string to_str(const Value& value, Budget& budget);
std::string repr(const Value& value, Budget& budget);
void append_repr(std::string& out, const Value& value, Budget& budget);
std::string quote(std::string_view text);
std::string format_float(double value);
bool equals(const Value& a, const Value& b, Budget& budget);
/// <0, 0, >0 as Python orders them, or a Failure for types that have no order. NaN: `unordered` is set.
int compare(const Value& a, const Value& b, Budget& budget, bool* unordered = nullptr);
/// The elements of an iterable (a generator gives what is left, once). Undefined has none.
std::vector<Value> elements(const Value& value, Budget& budget);
bool is_iterable(const Value& value);
/// len(), or nothing where Python has no length.
std::optional<size_t> length_of(const Value& value);

/// The arguments in the order of `names`; null where not given. Too many, unknown or missing ones are Failures.
std::vector<const Value*> bind(std::string_view callee, const Arguments& arguments,
                               std::initializer_list<std::string_view> names, size_t required = 0);

}  // namespace terrace::text::jinja
