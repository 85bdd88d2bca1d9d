#include "text/jinja/objects.h"

namespace terrace::text::jinja {

BoundMethod::BoundMethod(Value self, std::string name, Function function)
    : self_(std::move(self)), name_(std::move(name)), function_(function) {
  depth = depth_around(self_);
}

Value BoundMethod::call(Interpreter& interpreter, Arguments arguments) {
  return function_(interpreter, self_, arguments);
}

std::string BoundMethod::repr(Budget&) const { return "<method " + name_ + " of " + type_name(self_) + ">"; }

Value Macro::call(Interpreter& interpreter, Arguments arguments) {
  return Value(interpreter.run_callable(signature_, body_, scope_, name_, std::move(arguments)));
}

std::optional<Value> Macro::attribute(Interpreter&, std::string_view name) {
  if (name == "name") return Value(name_);
  if (name == "caller") return Value(signature_.uses_caller);
  if (name == "catch_varargs") return Value(signature_.uses_varargs);
  if (name == "catch_kwargs") return Value(signature_.uses_kwargs);
  if (name != "arguments") return std::nullopt;
  std::vector<Value> names;
  for (const std::string& argument : signature_.names) names.emplace_back(argument);
  return make_tuple(std::move(names));
}

std::string Macro::repr(Budget&) const { return "<Macro " + quote(name_) + ">"; }

std::optional<Value> Namespace::attribute(Interpreter&, std::string_view name) {
  const Value* value = values_.find(name);
  return value ? std::optional<Value>(*value) : std::nullopt;
}

std::string Namespace::repr(Budget& budget) const {
  // A namespace can hold itself; Python would print "..." there.
  std::string out = "<Namespace {";
  bool first = true;
  for (const auto& [key, value] : values_.items) {
    if (!first) out += ", ";
    first = false;
    append_repr(out, key, budget);
    out += ": ";
    if (value.is_object() || depth_of(value) > 1) {
      out += "...";
    } else {
      append_repr(out, value, budget);
    }
  }
  return out + "}>";
}

void Namespace::set(std::string_view name, Value value) {
  if (!name.empty() && name[0] == '_') {
    throw Failure("a namespace cannot hold names that begin with '_', like '" + std::string(name) + "'");
  }
  values_.set(name, std::move(value));
}

LoopObject::LoopObject(const Statement& loop, ScopePtr scope, std::vector<Value> items, int level, int value_depth)
    : loop_(loop),
      scope_(std::move(scope)),
      items_(std::move(items)),
      filtered_(loop.expressions.size() > 1),
      level_(level) {
  depth = value_depth;
}

bool LoopObject::pull(Interpreter& interpreter, Value& item) {
  while (taken_ < items_.size()) {
    interpreter.budget().step();
    item = items_[taken_++];
    if (!filtered_ || interpreter.test_loop_item(loop_, scope_, item)) return true;
  }
  return false;
}

bool LoopObject::has_next(Interpreter& interpreter) {
  if (after_) return true;
  Value item;
  if (!pull(interpreter, item)) return false;
  after_ = std::move(item);
  return true;
}

bool LoopObject::advance(Interpreter& interpreter) {
  if (!has_next(interpreter)) return false;
  before_ = std::move(current_);
  current_ = *std::move(after_);
  after_.reset();
  ++index0_;
  return true;
}

int64_t LoopObject::length(Interpreter& interpreter) {
  if (length_) return *length_;
  if (filtered_) {
    std::vector<Value> rest;
    Value item;
    while (pull(interpreter, item)) rest.push_back(std::move(item));
    length_ = static_cast<int64_t>(rest.size()) + index0_ + 1 + (after_ ? 1 : 0);
    items_ = std::move(rest);
    taken_ = 0;
    filtered_ = false;
  } else {
    length_ = static_cast<int64_t>(items_.size());
  }
  return *length_;
}

bool LoopObject::changed(Interpreter& interpreter, const std::vector<Value>& values) {
  bool same = changed_once_ && values.size() == changed_.size();
  for (size_t i = 0; same && i < values.size(); ++i) same = equals(values[i], changed_[i], interpreter.budget());
  if (!changed_once_) interpreter.clear_at_end(shared_from_this());
  changed_once_ = true;
  changed_ = values;
  return !same;
}

Value LoopObject::call(Interpreter& interpreter, Arguments arguments) {
  if (!loop_.recursive) throw Failure("loop() needs a for with 'recursive'");
  const auto given = bind("loop", arguments, {"iterable"}, 1);
  return Value(interpreter.run_recursive_loop(loop_, scope_, *given[0], level_ + 1));
}

std::string LoopObject::repr(Budget&) const { return "<LoopContext " + std::to_string(index0_ + 1) + ">"; }

namespace {

LoopObject& as_loop(const Value& self) { return static_cast<LoopObject&>(*self.object()); }

Value loop_cycle(Interpreter&, const Value& self, const Arguments& arguments) {
  const auto& values = arguments.positional;
  if (values.empty()) throw Failure("loop.cycle() needs values");
  return values[static_cast<size_t>(as_loop(self).index0()) % values.size()];
}

Value loop_changed(Interpreter& interpreter, const Value& self, const Arguments& arguments) {
  return Value(as_loop(self).changed(interpreter, arguments.positional));
}

Value cycler_next(Interpreter&, const Value& self, const Arguments&) {
  return static_cast<Cycler&>(*self.object()).take();
}

Value cycler_reset(Interpreter&, const Value& self, const Arguments&) {
  static_cast<Cycler&>(*self.object()).reset();
  return Value(None{});
}

}  // namespace

std::optional<Value> LoopObject::attribute(Interpreter& interpreter, std::string_view name) {
  if (name == "index") return Value(index0_ + 1);
  if (name == "index0") return Value(index0_);
  if (name == "first") return Value(index0_ == 0);
  if (name == "last") return Value(!has_next(interpreter));
  if (name == "length") return Value(length(interpreter));
  if (name == "revindex") return Value(length(interpreter) - index0_);
  if (name == "revindex0") return Value(length(interpreter) - index0_ - 1);
  if (name == "depth") return Value(int64_t{level_} + 1);
  if (name == "depth0") return Value(int64_t{level_});
  if (name == "previtem") return index0_ == 0 ? Value::undefined("there is no previous item") : before_;
  if (name == "nextitem") return has_next(interpreter) ? *after_ : Value::undefined("there is no next item");
  if (name == "cycle" || name == "changed") {
    const Value self{ObjectPtr(shared_from_this())};
    return Value(
        ObjectPtr(std::make_shared<BoundMethod>(self, std::string(name), name == "cycle" ? loop_cycle : loop_changed)));
  }
  return std::nullopt;
}

Cycler::Cycler(std::vector<Value> items) : items_(std::move(items)) {
  if (items_.empty()) throw Failure("cycler() needs values");
  for (const Value& item : items_) depth = std::max(depth, depth_around(item));
}

Value Cycler::take() {
  Value item = items_[at_];
  at_ = (at_ + 1) % items_.size();
  return item;
}

std::optional<Value> Cycler::attribute(Interpreter&, std::string_view name) {
  if (name == "current") return items_[at_];
  if (name != "next" && name != "reset") return std::nullopt;
  const Value self{ObjectPtr(shared_from_this())};
  return Value(
      ObjectPtr(std::make_shared<BoundMethod>(self, std::string(name), name == "next" ? cycler_next : cycler_reset)));
}

Value Joiner::call(Interpreter&, Arguments arguments) {
  bind("joiner", arguments, {});
  if (used_) return separator_;
  used_ = true;
  return Value("");
}

}  // namespace terrace::text::jinja
