#include <cmath>

#include "text/jinja/format.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/utf8.h"

namespace terrace::text::jinja {
namespace {

[[noreturn]] void refuse(const char* sign, const Value& left, const Value& right) {
  left.require_defined();
  right.require_defined();
  throw Failure(std::string("'") + sign + "' does not work on " + type_name(left) + " and " + type_name(right));
}

[[noreturn]] void overflow() { throw Failure("an integer result is beyond 64 bits"); }

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) throw Failure("division by zero");
  if (b == -1) {
    if (a == INT64_MIN) overflow();
    return -a;
  }
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}

int64_t floor_modulo(int64_t a, int64_t b) {
  if (b == 0) throw Failure("division by zero");
  if (b == -1) return 0;
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

double float_modulo(double a, double b) {
  if (b == 0) throw Failure("division by zero");
  const double rest = std::fmod(a, b);
  if (rest == 0) return std::copysign(0.0, b);
  return (b < 0) != (rest < 0) ? rest + b : rest;
}

double float_floor_divide(double a, double b) {
  if (b == 0) throw Failure("division by zero");
  const double rest = std::fmod(a, b);
  double quotient = (a - rest) / b;
  if (rest != 0 && (b < 0) != (rest < 0)) quotient -= 1;
  if (quotient == 0) return std::copysign(0.0, a / b);
  const double floor = std::floor(quotient);
  return quotient - floor > 0.5 ? floor + 1 : floor;
}

Value power(const Value& left, const Value& right) {
  const auto a = left.integer();
  const auto b = right.integer();
  if (a && b && *b >= 0) {
    int64_t result = 1;
    int64_t base = *a;
    for (int64_t exponent = *b; exponent > 0; exponent >>= 1) {
      if ((exponent & 1) && __builtin_mul_overflow(result, base, &result)) overflow();
      if (exponent > 1 && __builtin_mul_overflow(base, base, &base)) overflow();
    }
    return Value(result);
  }
  const double x = *left.number();
  const double y = *right.number();
  if (x == 0 && y < 0) throw Failure("zero has no negative power");
  if (x < 0 && std::isfinite(x) && std::isfinite(y) && y != std::floor(y))
    throw Failure("the power of a negative number is complex");
  const double result = std::pow(x, y);
  if (std::isinf(result) && std::isfinite(x) && std::isfinite(y)) throw Failure("a float result is too large");
  return Value(result);
}

Value arithmetic(Operator op, const Value& left, const Value& right) {
  if (op == Operator::power) return power(left, right);
  const auto a = left.integer();
  const auto b = right.integer();
  if (a && b && op != Operator::divide) {
    int64_t result = 0;
    switch (op) {
      case Operator::add:
        if (__builtin_add_overflow(*a, *b, &result)) overflow();
        return Value(result);
      case Operator::subtract:
        if (__builtin_sub_overflow(*a, *b, &result)) overflow();
        return Value(result);
      case Operator::multiply:
        if (__builtin_mul_overflow(*a, *b, &result)) overflow();
        return Value(result);
      case Operator::floor_divide:
        return Value(floor_divide(*a, *b));
      default:
        return Value(floor_modulo(*a, *b));
    }
  }
  const double x = *left.number();
  const double y = *right.number();
  switch (op) {
    case Operator::add:
      return Value(x + y);
    case Operator::subtract:
      return Value(x - y);
    case Operator::multiply:
      return Value(x * y);
    case Operator::divide:
      if (y == 0) throw Failure("division by zero");
      return Value(x / y);
    case Operator::floor_divide:
      return Value(float_floor_divide(x, y));
    default:
      return Value(float_modulo(x, y));
  }
}

Value repeat(const Value& value, int64_t times, Budget& budget) {
  const auto count = static_cast<size_t>(std::max<int64_t>(times, 0));
  if (value.is_string()) {
    budget.allocate(count, value.string().size());
    std::string text;
    text.reserve(count * value.string().size());
    if (!value.string().empty()) {
      for (size_t i = 0; i < count; ++i) text += value.string();
    }
    return Value(std::move(text));
  }
  const Sequence& sequence = *value.sequence();
  budget.allocate(count, sequence.items.size() * sizeof(Value));
  std::vector<Value> items;
  if (!sequence.items.empty()) {
    for (size_t i = 0; i < count; ++i) items.insert(items.end(), sequence.items.begin(), sequence.items.end());
  }
  return value.is_list() ? make_list(std::move(items)) : make_tuple(std::move(items));
}

bool is_repeatable(const Value& value) { return value.is_string() || value.is_list() || value.is_tuple(); }

Value concatenate(const Value& left, const Value& right, Budget& budget) {
  if (left.is_string() && right.is_string()) {
    budget.allocate(left.string().size() + right.string().size());
    return Value(left.string() + right.string());
  }
  if (!(left.is_list() && right.is_list()) && !(left.is_tuple() && right.is_tuple())) refuse("+", left, right);
  std::vector<Value> items = left.sequence()->items;
  const auto& more = right.sequence()->items;
  budget.allocate(items.size() + more.size(), sizeof(Value));
  items.insert(items.end(), more.begin(), more.end());
  return left.is_list() ? make_list(std::move(items)) : make_tuple(std::move(items));
}

bool contains(const Value& container, const Value& value, Budget& budget) {
  if (container.is_string()) {
    value.require_defined();
    if (!value.is_string()) throw Failure("'in' on a string needs a string, not " + type_name(value));
    budget.step(container.string().size() / 64 + 1);
    return container.string().find(value.string()) != std::string::npos;
  }
  if (container.is_dict()) return container.dict()->find(value, budget) != nullptr;
  if (container.is_undefined()) return false;
  if (!container.is_sequence()) throw Failure("'in' does not work on " + type_name(container));
  Sequence& sequence = *container.sequence();
  for (size_t i = sequence.used; i < sequence.items.size(); ++i) {
    const bool found = equals(sequence.items[i], value, budget);
    if (sequence.kind == SequenceKind::generator) sequence.used = i + 1;
    if (found) return true;
  }
  return false;
}

}  // namespace

Value apply_unary(Operator op, const Value& value) {
  if (op == Operator::logical_not) return Value(!truth(value));
  value.require_defined();
  if (value.is_float()) return Value(op == Operator::negate ? -value.floating() : value.floating());
  const auto whole = value.integer();
  if (!whole) throw Failure("a sign does not work on " + type_name(value));
  if (op == Operator::positive) return Value(*whole);
  if (*whole == INT64_MIN) overflow();
  return Value(-*whole);
}

Value apply_binary(Interpreter& interpreter, Operator op, const Value& left, const Value& right) {
  if (left.is_number() && right.is_number()) return arithmetic(op, left, right);
  Budget& budget = interpreter.budget();
  switch (op) {
    case Operator::add:
      return concatenate(left, right, budget);
    case Operator::multiply:
      if (is_repeatable(left) && right.integer()) return repeat(left, *right.integer(), budget);
      if (is_repeatable(right) && left.integer()) return repeat(right, *left.integer(), budget);
      refuse("*", left, right);
    case Operator::modulo:
      if (left.is_string()) return Value(format_percent(interpreter, left.string(), right));
      refuse("%", left, right);
    case Operator::subtract:
      refuse("-", left, right);
    case Operator::divide:
      refuse("/", left, right);
    case Operator::floor_divide:
      refuse("//", left, right);
    default:
      refuse("**", left, right);
  }
}

bool apply_comparison(Operator op, const Value& left, const Value& right, Budget& budget) {
  if (op == Operator::equal) return equals(left, right, budget);
  if (op == Operator::not_equal) return !equals(left, right, budget);
  if (op == Operator::in) return contains(right, left, budget);
  if (op == Operator::not_in) return !contains(right, left, budget);
  bool unordered = false;
  const int order = compare(left, right, budget, &unordered);
  if (unordered) return false;
  switch (op) {
    case Operator::less:
      return order < 0;
    case Operator::less_equal:
      return order <= 0;
    case Operator::greater:
      return order > 0;
    default:
      return order >= 0;
  }
}

Value slice(const Value& value, const Value& start, const Value& stop, const Value& step, Budget& budget) {
  value.require_defined();
  const auto bound = [](const Value& part) -> std::optional<int64_t> {
    if (part.is_none()) return std::nullopt;
    part.require_defined();
    if (!part.integer()) throw Failure("a slice needs integers, not " + type_name(part));
    return part.integer();
  };
  const bool is_text = value.is_string();
  if (!is_text && (!value.is_sequence() ||
                   (!value.is_list() && !value.is_tuple() && value.sequence()->kind != SequenceKind::range))) {
    throw Failure("a value of type " + type_name(value) + " has no slices");
  }
  std::vector<size_t> offsets;
  if (is_text) {
    budget.step(value.string().size() / 64 + 1);
    offsets = utf8::offsets(value.string());
  }
  const auto length = static_cast<int64_t>(is_text ? offsets.size() - 1 : value.sequence()->items.size());
  const auto first = bound(start);
  const auto last = bound(stop);
  const int64_t stride = bound(step).value_or(1);
  if (stride == 0) throw Failure("a slice needs a step other than 0");
  const int64_t low = stride > 0 ? 0 : -1;
  const int64_t high = stride > 0 ? length : length - 1;
  const auto clamp = [&](int64_t at) {
    return std::clamp(at < 0 ? std::max(at, -length - 1) + length : at, low, high);
  };
  const int64_t from = first ? clamp(*first) : stride > 0 ? low : high;
  const int64_t to = last ? clamp(*last) : stride > 0 ? high : low;
  std::string text;
  std::vector<Value> items;
  int64_t at = from;
  while (stride > 0 ? at < to : at > to) {
    const auto i = static_cast<size_t>(at);
    if (is_text) {
      text += std::string_view(value.string()).substr(offsets[i], offsets[i + 1] - offsets[i]);
    } else {
      items.push_back(value.sequence()->items[i]);
    }
    if (__builtin_add_overflow(at, stride, &at)) break;
  }
  if (is_text) {
    budget.allocate(text.size());
    return Value(std::move(text));
  }
  budget.allocate(items.size(), sizeof(Value));
  Value result =
      value.is_tuple() ? make_tuple(std::move(items)) : make_sequence(value.sequence()->kind, std::move(items));
  if (result.sequence()->kind == SequenceKind::range) {
    const Sequence& range = *value.sequence();
    result.sequence()->start = range.start + from * range.step;
    result.sequence()->stop = range.start + to * range.step;
    result.sequence()->step = __builtin_mul_overflow(range.step, stride, &at) ? stride : at;
  }
  return result;
}

}  // namespace terrace::text::jinja
