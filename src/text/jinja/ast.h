// The parsed form of a template.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace terrace::text::jinja {

struct Expression;
struct Statement;
using ExpressionPtr = std::unique_ptr<Expression>;
using StatementPtr = std::unique_ptr<Statement>;
using Body = std::vector<StatementPtr>;

enum class ExpressionKind {
  constant,   ///< value
  name,       ///< name
  member,     ///< name.attribute as an assignment target: `name`, `attribute`
  list,       ///< children
  tuple,      ///< children
  dict,       ///< children: key, value, key, value...
  unary,      ///< operators[0] of children[0]: + - not
  binary,     ///< children[0] operators[0] children[1]
  logic,      ///< children[0] and/or children[1]
  compare,    ///< children[0] operators[0] children[1] operators[1] children[2]...
  concat,     ///< children
  condition,  ///< children: test, value, else or null
  attribute,  ///< children[0].name
  item,       ///< children[0][children[1]]
  slice,      ///< children[0][children[1]:children[2]:children[3]], parts may be null
  call,       ///< children[0](arguments)
  filter,     ///< children[0] | name(arguments); children[0] is null in filter blocks
  test,       ///< children[0] is name(arguments)
};

enum class Operator {
  add,
  subtract,
  multiply,
  divide,
  floor_divide,
  modulo,
  power,
  negate,
  positive,
  logical_not,
  logical_and,
  logical_or,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  not_in
};

struct Expression {
  ExpressionKind kind = ExpressionKind::constant;
  int line = 1;
  int depth = 1;
  std::string name;
  std::string attribute;
  Value value;
  std::vector<Operator> operators;
  std::vector<ExpressionPtr> children;
  // Arguments of calls, filters and tests.
  std::vector<ExpressionPtr> arguments;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr star, star_star;
};

enum class StatementKind {
  text,          ///< text
  print,         ///< expressions
  condition,     ///< expressions[0], body, otherwise
  loop,          ///< target in expressions[0] (if expressions[1]), body, otherwise
  assign,        ///< target = expressions[0]
  assign_block,  ///< target, filter expressions[0] or null, body
  macro,         ///< text, signature, body
  call_block,    ///< expressions[0] (a call), signature, body
  filter_block,  ///< expressions[0], body
  with,          ///< targets, expressions, body
  scope,         ///< body
  break_loop,
  continue_loop,
};

/// Parameters of a macro or call block.
struct Signature {
  std::vector<std::string> names;
  std::vector<ExpressionPtr> defaults;  ///< of the last parameters
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
};

struct Statement {
  StatementKind kind = StatementKind::text;
  int line = 1;
  std::string text;
  ExpressionPtr target;
  std::vector<ExpressionPtr> targets;
  std::vector<ExpressionPtr> expressions;
  Signature signature;
  Body body, otherwise;
  bool recursive = false;
};

}  // namespace terrace::text::jinja
