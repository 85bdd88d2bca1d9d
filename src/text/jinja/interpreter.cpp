#include "text/jinja/interpreter.h"

#include "text/jinja/objects.h"

namespace terrace::text::jinja {

Value* Scope::find(std::string_view name) {
  for (auto& [key, value] : names) {
    if (key == name) return &value;
  }
  return nullptr;
}

void Scope::set(std::string_view name, Value value) {
  if (Value* old = find(name)) {
    *old = std::move(value);
  } else {
    names.emplace_back(name, std::move(value));
  }
}

/// Counts one nested evaluation while it lives.
class Interpreter::Level {
 public:
  explicit Level(Interpreter& interpreter) : interpreter_(interpreter) {
    if (interpreter.levels_ >= kMaxEvaluation) {
      throw Failure("the template recurses too deeply (limit " + std::to_string(kMaxEvaluation) +
                    " evaluations inside each other)");
    }
    ++interpreter.levels_;
  }
  ~Level() { --interpreter_.levels_; }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  Interpreter& interpreter_;
};

Interpreter::Interpreter(const Limits& limits, std::function<std::tm()> clock)
    : budget_(limits), clock_(std::move(clock)), scope_(std::make_shared<Scope>()) {}

Interpreter::~Interpreter() {
  // Macros and namespaces can hold themselves through their scope or their values.
  for (const ObjectPtr& object : cleared_objects_) object->clear();
  for (const ScopePtr& scope : captured_scopes_) scope->names.clear();
}

std::string Interpreter::render(const Body& body) {
  return capture([&] { execute(body); });
}

void Interpreter::write(std::string_view text) {
  budget_.check_length(out_->size() + text.size());
  *out_ += text;
}

template <class Run>
std::string Interpreter::capture(Run run) {
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  try {
    run();
  } catch (...) {
    out_ = outer;
    throw;
  }
  out_ = outer;
  budget_.allocate(text.size());
  return text;
}

namespace {

/// Puts a scope in place while it lives.
class ScopeChange {
 public:
  ScopeChange(ScopePtr& place, ScopePtr scope) : place_(place), before_(std::exchange(place, std::move(scope))) {}
  ~ScopeChange() { place_ = std::move(before_); }
  ScopeChange(const ScopeChange&) = delete;
  ScopeChange& operator=(const ScopeChange&) = delete;

 private:
  ScopePtr& place_;
  ScopePtr before_;
};

ScopePtr inside(const ScopePtr& parent) {
  auto scope = std::make_shared<Scope>();
  scope->parent = parent;
  return scope;
}

}  // namespace

Flow Interpreter::execute(const Body& body) {
  for (const StatementPtr& statement : body) {
    const Flow flow = execute(*statement);
    if (flow != Flow::next) return flow;
  }
  return Flow::next;
}

Flow Interpreter::execute_inner(const Body& body) {
  const ScopeChange change(scope_, inside(scope_));
  return execute(body);
}

Flow Interpreter::execute(const Statement& statement) {
  const Level level(*this);
  budget_.step();
  line_ = statement.line;
  switch (statement.kind) {
    case StatementKind::text:
      write(statement.text);
      break;
    case StatementKind::print:
      for (const auto& expression : statement.expressions) write(str(evaluate(*expression)));
      break;
    case StatementKind::condition:
      return execute(truth(evaluate(*statement.expressions[0])) ? statement.body : statement.otherwise);
    case StatementKind::loop:
      return execute_loop(statement, evaluate(*statement.expressions[0]), 0);
    case StatementKind::assign:
      assign(*statement.target, evaluate(*statement.expressions[0]));
      break;
    case StatementKind::assign_block: {
      Value text(capture([&] { execute_inner(statement.body); }));
      if (statement.expressions[0]) text = evaluate_filter(*statement.expressions[0], text);
      assign(*statement.target, text);
      break;
    }
    case StatementKind::macro:
      captured_scopes_.push_back(scope_);
      scope_->set(
          statement.text,
          Value(ObjectPtr(std::make_shared<Macro>(statement.text, statement.signature, statement.body, scope_))));
      break;
    case StatementKind::call_block:
      execute_call_block(statement);
      break;
    case StatementKind::filter_block: {
      const Value text(capture([&] { execute_inner(statement.body); }));
      write(str(evaluate_filter(*statement.expressions[0], text)));
      break;
    }
    case StatementKind::with:
      execute_with(statement);
      break;
    case StatementKind::scope:
      return execute_inner(statement.body);
    case StatementKind::break_loop:
      return Flow::break_loop;
    case StatementKind::continue_loop:
      return Flow::continue_loop;
  }
  return Flow::next;
}

Flow Interpreter::execute_loop(const Statement& statement, const Value& items, int depth) {
  const int value_depth = depth_around(items);
  const auto loop = std::make_shared<LoopObject>(statement, scope_, elements(items, budget_), depth, value_depth);
  bool entered = false;
  while (loop->advance(*this)) {
    entered = true;
    budget_.step();
    const ScopeChange change(scope_, inside(scope_));
    scope_->set("loop", Value(ObjectPtr(loop)));
    line_ = statement.line;
    assign(*statement.target, loop->current());
    if (execute(statement.body) == Flow::break_loop) break;
  }
  // A break or continue in the else part belongs to the loop around this one.
  return entered ? Flow::next : execute_inner(statement.otherwise);
}

bool Interpreter::test_loop_item(const Statement& loop, const ScopePtr& scope, const Value& item) {
  const ScopeChange change(scope_, inside(scope));
  assign(*loop.target, item);
  return truth(evaluate(*loop.expressions[1]));
}

std::string Interpreter::run_recursive_loop(const Statement& loop, const ScopePtr& scope, const Value& items,
                                            int depth) {
  if (calls_ >= kMaxCalls) throw Failure("loop() recurses too deeply (limit " + std::to_string(kMaxCalls) + ")");
  ++calls_;
  std::string text;
  try {
    const ScopeChange change(scope_, scope);
    text = capture([&] { execute_loop(loop, items, depth); });
  } catch (...) {
    --calls_;
    throw;
  }
  --calls_;
  return text;
}

void Interpreter::execute_with(const Statement& statement) {
  const std::vector<Value> values = evaluate_all(statement.expressions);
  const ScopeChange change(scope_, inside(scope_));
  for (size_t i = 0; i < values.size(); ++i) assign(*statement.targets[i], values[i]);
  execute(statement.body);
}

void Interpreter::execute_call_block(const Statement& statement) {
  captured_scopes_.push_back(scope_);
  const Expression& call_node = *statement.expressions[0];
  const Value callee = evaluate(*call_node.children[0]);
  Arguments arguments = evaluate_arguments(call_node);
  arguments.named.emplace_back(
      "caller", Value(ObjectPtr(std::make_shared<Macro>("caller", statement.signature, statement.body, scope_))));
  line_ = statement.line;
  write(str(call(callee, std::move(arguments))));
}

std::string Interpreter::run_callable(const Signature& signature, const Body& body, const ScopePtr& scope,
                                      const std::string& name, Arguments arguments) {
  const ScopePtr local = inside(scope);
  const size_t count = signature.names.size();
  const size_t given = std::min(count, arguments.positional.size());
  bool caller_given = false;
  std::vector<bool> missing(count, false);
  for (size_t i = 0; i < count; ++i) {
    const std::string& parameter = signature.names[i];
    caller_given = caller_given || parameter == "caller";
    if (i < given) {
      local->set(parameter, arguments.positional[i]);
      continue;
    }
    auto at = arguments.named.begin();
    while (at != arguments.named.end() && at->first != parameter) ++at;
    missing[i] = at == arguments.named.end();
    if (missing[i]) continue;
    local->set(parameter, at->second);
    arguments.named.erase(at);
  }
  if (signature.uses_caller && !caller_given) {
    Value caller = Value::undefined("no caller is defined");
    for (auto at = arguments.named.begin(); at != arguments.named.end(); ++at) {
      if (at->first != "caller") continue;
      caller = at->second;
      arguments.named.erase(at);
      break;
    }
    local->set("caller", caller);
  }
  if (signature.uses_kwargs) {
    auto extra = std::make_shared<Dict>();
    for (auto& [key, value] : arguments.named) extra->set(key, std::move(value));
    local->set("kwargs", Value(std::move(extra)));
  } else if (!arguments.named.empty()) {
    throw Failure("the macro '" + name + "' has no argument '" + arguments.named[0].first + "'");
  }
  if (signature.uses_varargs) {
    local->set("varargs", make_tuple({arguments.positional.begin() + static_cast<std::ptrdiff_t>(given),
                                      arguments.positional.end()}));
  } else if (arguments.positional.size() > count) {
    throw Failure("the macro '" + name + "' takes at most " + std::to_string(count) + " arguments");
  }
  if (calls_ >= kMaxCalls)
    throw Failure("the macro '" + name + "' recurses too deeply (limit " + std::to_string(kMaxCalls) + ")");
  const int line = line_;
  ++calls_;
  std::string text;
  try {
    const ScopeChange change(scope_, local);
    const size_t first_default = count - signature.defaults.size();
    for (size_t i = 0; i < count; ++i) {
      if (!missing[i]) continue;
      local->set(signature.names[i], i < first_default
                                         ? Value::undefined("the parameter '" + signature.names[i] + "' was not given")
                                         : evaluate(*signature.defaults[i - first_default]));
    }
    text = capture([&] { execute(body); });
  } catch (...) {
    --calls_;
    throw;
  }
  --calls_;
  line_ = line;
  return text;
}

void Interpreter::assign(const Expression& target, const Value& value) {
  if (target.kind == ExpressionKind::name) {
    scope_->set(target.name, value);
    return;
  }
  if (target.kind == ExpressionKind::member) {
    Value object = evaluate_name(target);
    auto* space = object.is_object() ? dynamic_cast<Namespace*>(object.object().get()) : nullptr;
    if (!space) throw Failure("only a namespace's attributes can be set, and '" + target.name + "' is none");
    space->set(target.attribute, value);
    return;
  }
  if (!is_iterable(value)) throw Failure("a value of type " + type_name(value) + " cannot be unpacked");
  const std::vector<Value> parts = elements(value, budget_);
  if (parts.size() != target.children.size()) {
    throw Failure(std::to_string(parts.size()) + " values cannot be unpacked into " +
                  std::to_string(target.children.size()) + " names");
  }
  for (size_t i = 0; i < parts.size(); ++i) assign(*target.children[i], parts[i]);
}

Value Interpreter::evaluate(const Expression& expression) {
  const Level level(*this);
  budget_.step();
  line_ = expression.line;
  switch (expression.kind) {
    case ExpressionKind::constant:
      return expression.value;
    case ExpressionKind::name:
    case ExpressionKind::member:
      return evaluate_name(expression);
    case ExpressionKind::list:
      return make_list(evaluate_all(expression.children));
    case ExpressionKind::tuple:
      return make_tuple(evaluate_all(expression.children));
    case ExpressionKind::dict: {
      auto dict = std::make_shared<Dict>();
      for (size_t i = 0; i < expression.children.size(); i += 2) {
        Value key = evaluate(*expression.children[i]);
        dict->set(std::move(key), evaluate(*expression.children[i + 1]), budget_);
      }
      return Value(std::move(dict));
    }
    case ExpressionKind::unary: {
      const Value operand = evaluate(*expression.children[0]);
      return apply_unary(expression.operators[0], operand);
    }
    case ExpressionKind::binary: {
      const Value left = evaluate(*expression.children[0]);
      const Value right = evaluate(*expression.children[1]);
      line_ = expression.line;
      return apply_binary(*this, expression.operators[0], left, right);
    }
    case ExpressionKind::logic: {
      Value left = evaluate(*expression.children[0]);
      const bool wants_more = truth(left) == (expression.operators[0] == Operator::logical_and);
      return wants_more ? evaluate(*expression.children[1]) : left;
    }
    case ExpressionKind::compare:
      return evaluate_compare(expression);
    case ExpressionKind::concat:
      return evaluate_concat(expression);
    case ExpressionKind::condition:
      if (truth(evaluate(*expression.children[0]))) return evaluate(*expression.children[1]);
      if (expression.children[2]) return evaluate(*expression.children[2]);
      return Value::undefined("the inline if was false and has no else");
    case ExpressionKind::attribute: {
      const Value object = evaluate(*expression.children[0]);
      line_ = expression.line;
      return get_attribute(object, expression.name);
    }
    case ExpressionKind::item: {
      const Value object = evaluate(*expression.children[0]);
      const Value key = evaluate(*expression.children[1]);
      line_ = expression.line;
      return get_item(object, key);
    }
    case ExpressionKind::slice:
      return evaluate_slice(expression);
    case ExpressionKind::call: {
      const Value callee = evaluate(*expression.children[0]);
      Arguments arguments = evaluate_arguments(expression);
      line_ = expression.line;
      return call(callee, std::move(arguments));
    }
    case ExpressionKind::filter:
      return evaluate_filter(expression, evaluate(*expression.children[0]));
    case ExpressionKind::test: {
      const Value input = evaluate(*expression.children[0]);
      const Arguments arguments = evaluate_arguments(expression);
      line_ = expression.line;
      return Value(apply_test(expression.name, input, arguments));
    }
  }
  return {};
}

Value Interpreter::evaluate_name(const Expression& expression) {
  for (Scope* scope = scope_.get(); scope; scope = scope->parent.get()) {
    if (const Value* value = scope->find(expression.name)) return *value;
  }
  if (const auto at = context_.find(expression.name); at != context_.end()) return at->second;
  return find_global(expression.name);
}

Value Interpreter::evaluate_compare(const Expression& expression) {
  Value left = evaluate(*expression.children[0]);
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    Value right = evaluate(*expression.children[i + 1]);
    line_ = expression.line;
    if (!apply_comparison(expression.operators[i], left, right, budget_)) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Value Interpreter::evaluate_concat(const Expression& expression) {
  std::string text;
  for (const auto& child : expression.children) {
    text += str(evaluate(*child));
    budget_.check_length(text.size());
  }
  budget_.allocate(text.size());
  return Value(std::move(text));
}

Value Interpreter::evaluate_slice(const Expression& expression) {
  const Value object = evaluate(*expression.children[0]);
  Value bounds[3];
  for (size_t i = 0; i < 3; ++i) {
    const auto& part = expression.children[i + 1];
    bounds[i] = part ? evaluate(*part) : Value(None{});
  }
  line_ = expression.line;
  return slice(object, bounds[0], bounds[1], bounds[2], budget_);
}

// A filter block's chain ends in a filter without child: that one takes `input`.
Value Interpreter::evaluate_filter(const Expression& expression, const Value& input) {
  const Level level(*this);
  Value value = input;
  const Expression* child = expression.children[0].get();
  if (child && child->kind == ExpressionKind::filter) {
    const Expression* deepest = child;
    while (deepest->children[0] && deepest->children[0]->kind == ExpressionKind::filter)
      deepest = deepest->children[0].get();
    if (!deepest->children[0]) value = evaluate_filter(*child, input);
  }
  const Arguments arguments = evaluate_arguments(expression);
  line_ = expression.line;
  return apply_filter(expression.name, value, arguments);
}

std::vector<Value> Interpreter::evaluate_all(const std::vector<ExpressionPtr>& expressions) {
  std::vector<Value> values;
  values.reserve(expressions.size());
  for (const auto& expression : expressions) values.push_back(evaluate(*expression));
  return values;
}

Arguments Interpreter::evaluate_arguments(const Expression& call_node) {
  Arguments arguments;
  arguments.positional = evaluate_all(call_node.arguments);
  for (const auto& [name, expression] : call_node.named) arguments.named.emplace_back(name, evaluate(*expression));
  if (call_node.star) {
    const std::vector<Value> extra = elements(evaluate(*call_node.star), budget_);
    arguments.positional.insert(arguments.positional.end(), extra.begin(), extra.end());
  }
  if (call_node.star_star) {
    const Value extra = evaluate(*call_node.star_star);
    extra.require_defined();
    if (!extra.is_dict()) throw Failure("** needs a dictionary, not " + type_name(extra));
    for (const auto& [key, value] : extra.dict()->items) {
      if (!key.is_string()) throw Failure("** needs a dictionary with string keys");
      for (const auto& [other, unused] : arguments.named) {
        if (other == key.string()) throw Failure("the argument '" + other + "' is given twice");
      }
      arguments.named.emplace_back(key.string(), value);
    }
  }
  return arguments;
}

}  // namespace terrace::text::jinja
