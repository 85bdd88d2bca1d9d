// The objects of a template that are not data.
#pragma once

#include "text/jinja/interpreter.h"

namespace terrace::text::jinja {

/// A method taken from its object.
class BoundMethod : public Object {
 public:
  BoundMethod(Value self, std::string name, Function function);
  Value call(Interpreter& interpreter, Arguments arguments) override;
  std::string repr(Budget& budget) const override;

 private:
  Value self_;
  std::string name_;
  Function function_;
};

/// A macro, or the body of a call block as caller().
class Macro : public Object {
 public:
  Macro(std::string name, const Signature& signature, const Body& body, ScopePtr scope)
      : name_(std::move(name)), signature_(signature), body_(body), scope_(std::move(scope)) {}
  Value call(Interpreter& interpreter, Arguments arguments) override;
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
  std::string repr(Budget& budget) const override;

 private:
  std::string name_;
  const Signature& signature_;
  const Body& body_;
  ScopePtr scope_;
};

class Namespace : public Object {
 public:
  bool callable() const override { return false; }
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
  std::string repr(Budget& budget) const override;
  void clear() override { values_ = Dict(); }
  void set(std::string_view name, Value value);

 private:
  Dict values_;
};

/// `loop` inside a for. Elements are taken when needed, so that a loop's `if` sees what earlier rounds did.
class LoopObject : public Object, public std::enable_shared_from_this<LoopObject> {
 public:
  LoopObject(const Statement& loop, ScopePtr scope, std::vector<Value> items, int level, int value_depth);
  bool callable() const override { return true; }
  Value call(Interpreter& interpreter, Arguments arguments) override;
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
  std::string repr(Budget& budget) const override;
  void clear() override { changed_.clear(); }
  /// Goes to the next element; false at the end.
  bool advance(Interpreter& interpreter);
  const Value& current() const { return current_; }
  bool changed(Interpreter& interpreter, const std::vector<Value>& values);
  int64_t index0() const { return index0_; }

 private:
  bool pull(Interpreter& interpreter, Value& item);
  bool has_next(Interpreter& interpreter);
  int64_t length(Interpreter& interpreter);

  const Statement& loop_;
  ScopePtr scope_;
  std::vector<Value> items_;
  size_t taken_ = 0;
  bool filtered_;
  int level_;
  int64_t index0_ = -1;
  std::optional<int64_t> length_;
  Value before_, current_;
  std::optional<Value> after_;
  std::vector<Value> changed_;
  bool changed_once_ = false;
};

/// cycler(...)
class Cycler : public Object, public std::enable_shared_from_this<Cycler> {
 public:
  explicit Cycler(std::vector<Value> items);
  bool callable() const override { return false; }
  std::optional<Value> attribute(Interpreter& interpreter, std::string_view name) override;
  std::string repr(Budget&) const override { return "<Cycler>"; }
  Value take();
  void reset() { at_ = 0; }

 private:
  std::vector<Value> items_;
  size_t at_ = 0;
};

/// joiner(...)
class Joiner : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) { depth = depth_around(separator_); }
  Value call(Interpreter& interpreter, Arguments arguments) override;
  std::string repr(Budget&) const override { return "<Joiner>"; }

 private:
  Value separator_;
  bool used_ = false;
};

/// A function of the template's globals.
class GlobalFunction : public Object {
 public:
  GlobalFunction(const char* name, Function function) : name_(name), function_(function) {}
  Value call(Interpreter& interpreter, Arguments arguments) override {
    return function_(interpreter, Value(), arguments);
  }
  std::string repr(Budget&) const override { return std::string("<function ") + name_ + ">"; }

 private:
  const char* name_;
  Function function_;
};

}  // namespace terrace::text::jinja
