// The tests of `is`.
#include <cmath>
#include <unordered_map>

#include "text/jinja/arguments.h"
#include "text/jinja/interpreter.h"

namespace terrace::text::jinja {
namespace {

const Value& argument(const Arguments& arguments, const char* name) { return *bind(name, arguments, {"other"}, 1)[0]; }
void none(const Arguments& arguments) { bind("the test", arguments, {}); }

Value remainder(Interpreter& interpreter, const Value& self, const Value& by) {
  return apply_binary(interpreter, Operator::modulo, self, by);
}

bool equal_to(Interpreter& interpreter, const Value& value, int64_t number) {
  return equals(value, Value(number), interpreter.budget());
}

template <Operator op>
bool comparison(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  return apply_comparison(op, self, argument(arguments, "the test"), interpreter.budget());
}

bool odd(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  none(arguments);
  return equal_to(interpreter, remainder(interpreter, self, Value(int64_t{2})), 1);
}

bool even(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  none(arguments);
  return equal_to(interpreter, remainder(interpreter, self, Value(int64_t{2})), 0);
}

bool divisible_by(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  return equal_to(interpreter, remainder(interpreter, self, *bind("divisibleby", arguments, {"num"}, 1)[0]), 0);
}

bool same_as(Interpreter&, const Value& self, const Arguments& arguments) {
  const Value& other = argument(arguments, "sameas");
  if (self.data().index() != other.data().index()) return false;
  if (self.is_string()) return self.string() == other.string();
  if (self.is_sequence()) return self.sequence() == other.sequence();
  if (self.is_dict()) return self.dict() == other.dict();
  if (self.is_object()) return self.object() == other.object();
  if (self.is_float()) return self.floating() == other.floating();
  return self.integer() == other.integer();
}

bool sequence(Interpreter&, const Value& self, const Arguments& arguments) {
  none(arguments);
  if (self.is_string() || self.is_dict() || self.is_list() || self.is_tuple() || self.is_undefined()) return true;
  return self.is_sequence() && self.sequence()->kind == SequenceKind::range;
}

template <bool (Value::*is)() const>
bool kind(Interpreter&, const Value& self, const Arguments& arguments) {
  none(arguments);
  return (self.*is)();
}

bool defined(Interpreter&, const Value& self, const Arguments& arguments) {
  none(arguments);
  return !self.is_undefined();
}

template <bool expected>
bool is_boolean(Interpreter&, const Value& self, const Arguments& arguments) {
  none(arguments);
  return self.is_bool() && self.boolean() == expected;
}

bool lower(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  none(arguments);
  return is_lower_text(interpreter.str(self));
}

bool upper(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  none(arguments);
  return is_upper_text(interpreter.str(self));
}

bool iterable(Interpreter&, const Value& self, const Arguments& arguments) {
  none(arguments);
  return is_iterable(self);
}

bool callable(Interpreter&, const Value& self, const Arguments& arguments) {
  none(arguments);
  // Jinja's undefined has a __call__, which raises.
  return self.is_undefined() || (self.is_object() && self.object()->callable());
}

bool filter(Interpreter&, const Value& self, const Arguments& arguments) {
  none(arguments);
  return self.is_string() && find_filter(self.string()) != nullptr;
}

bool test(Interpreter&, const Value& self, const Arguments& arguments) {
  none(arguments);
  return self.is_string() && find_test(self.string()) != nullptr;
}

bool escaped(Interpreter&, const Value&, const Arguments& arguments) {
  none(arguments);
  return false;
}

}  // namespace

Test find_test(std::string_view name) {
  static const std::unordered_map<std::string_view, Test> kTests = {
      {"odd", odd},
      {"even", even},
      {"divisibleby", divisible_by},
      {"defined", defined},
      {"undefined", kind<&Value::is_undefined>},
      {"none", kind<&Value::is_none>},
      {"boolean", kind<&Value::is_bool>},
      {"integer", kind<&Value::is_integer>},
      {"float", kind<&Value::is_float>},
      {"number", kind<&Value::is_number>},
      {"string", kind<&Value::is_string>},
      {"mapping", kind<&Value::is_dict>},
      {"true", is_boolean<true>},
      {"false", is_boolean<false>},
      {"lower", lower},
      {"upper", upper},
      {"sequence", sequence},
      {"iterable", iterable},
      {"callable", callable},
      {"filter", filter},
      {"test", test},
      {"escaped", escaped},
      {"sameas", same_as},
      {"in", comparison<Operator::in>},
      {"==", comparison<Operator::equal>},
      {"eq", comparison<Operator::equal>},
      {"equalto", comparison<Operator::equal>},
      {"!=", comparison<Operator::not_equal>},
      {"ne", comparison<Operator::not_equal>},
      {">", comparison<Operator::greater>},
      {"gt", comparison<Operator::greater>},
      {"greaterthan", comparison<Operator::greater>},
      {">=", comparison<Operator::greater_equal>},
      {"ge", comparison<Operator::greater_equal>},
      {"<", comparison<Operator::less>},
      {"lt", comparison<Operator::less>},
      {"lessthan", comparison<Operator::less>},
      {"<=", comparison<Operator::less_equal>},
      {"le", comparison<Operator::less_equal>},
  };
  const auto at = kTests.find(name);
  return at == kTests.end() ? nullptr : at->second;
}

}  // namespace terrace::text::jinja
