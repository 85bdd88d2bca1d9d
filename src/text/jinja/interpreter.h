// Walks the tree of a template and writes its text.
#pragma once

#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/value.h"

namespace terrace::text::jinja {

/// The names of one block and a way to those around it. Names are views into the tree, which outlives the render.
struct Scope {
  std::shared_ptr<Scope> parent;
  std::vector<std::pair<std::string_view, Value>> names;

  Value* find(std::string_view name);
  void set(std::string_view name, Value value);
};
using ScopePtr = std::shared_ptr<Scope>;

enum class Flow { next, break_loop, continue_loop };

class LoopObject;

class Interpreter {
 public:
  Interpreter(const Limits& limits, std::function<std::tm()> clock);
  ~Interpreter();
  Interpreter(const Interpreter&) = delete;
  Interpreter& operator=(const Interpreter&) = delete;

  /// Names visible to the whole template; they hide globals of the same name.
  void define(std::string name, Value value) { context_[std::move(name)] = std::move(value); }
  std::string render(const Body& body);
  int line() const { return line_; }

  // For filters, methods and objects
  Budget& budget() { return budget_; }
  std::tm now() const { return clock_(); }
  Value get_attribute(const Value& object, std::string_view name);
  Value get_item(const Value& object, const Value& key);
  Value call(const Value& callee, Arguments arguments);
  Value apply_filter(std::string_view name, const Value& input, const Arguments& arguments);
  bool apply_test(std::string_view name, const Value& input, const Arguments& arguments);
  std::string str(const Value& value) { return to_str(value, budget_); }
  /// Calls `object->clear()` when the render ends.
  void clear_at_end(ObjectPtr object) { cleared_objects_.push_back(std::move(object)); }

  // For macros and loops
  std::string run_callable(const Signature& signature, const Body& body, const ScopePtr& scope, const std::string& name,
                           Arguments arguments);
  std::string run_recursive_loop(const Statement& loop, const ScopePtr& scope, const Value& items, int depth);
  bool test_loop_item(const Statement& loop, const ScopePtr& scope, const Value& item);

 private:
  class Level;

  // statements
  Flow execute(const Body& body);
  Flow execute(const Statement& statement);
  Flow execute_inner(const Body& body);
  Flow execute_loop(const Statement& statement, const Value& items, int depth);
  void execute_with(const Statement& statement);
  void execute_call_block(const Statement& statement);
  template <class Run>
  std::string capture(Run run);
  void assign(const Expression& target, const Value& value);
  void write(std::string_view text);

  // expressions
  Value evaluate(const Expression& expression);
  Value evaluate_name(const Expression& expression);
  Value evaluate_compare(const Expression& expression);
  Value evaluate_concat(const Expression& expression);
  Value evaluate_slice(const Expression& expression);
  Value evaluate_filter(const Expression& expression, const Value& input);
  std::vector<Value> evaluate_all(const std::vector<ExpressionPtr>& expressions);
  Arguments evaluate_arguments(const Expression& call);

  Budget budget_;
  std::function<std::tm()> clock_;
  std::unordered_map<std::string, Value> context_;
  ScopePtr scope_;
  std::string* out_ = nullptr;
  int line_ = 1;
  int levels_ = 0;
  int calls_ = 0;
  std::vector<ScopePtr> captured_scopes_;  ///< scopes that a macro in them may keep alive
  std::vector<ObjectPtr> cleared_objects_;
};

// operators.cpp
Value apply_unary(Operator op, const Value& value);
Value apply_binary(Interpreter& interpreter, Operator op, const Value& left, const Value& right);
bool apply_comparison(Operator op, const Value& left, const Value& right, Budget& budget);
/// start, stop and step may be none.
Value slice(const Value& value, const Value& start, const Value& stop, const Value& step, Budget& budget);

using Function = Value (*)(Interpreter&, const Value& self, const Arguments&);

/// The method `name` of a string, list, tuple or dict; null if there is none. `refused`: it exists, but changes its
/// object.
Function find_method(const Value& self, std::string_view name, bool& refused);
Function find_filter(std::string_view name);
using Test = bool (*)(Interpreter&, const Value& self, const Arguments&);
Test find_test(std::string_view name);
/// A global function or undefined.
Value find_global(std::string_view name);

}  // namespace terrace::text::jinja
