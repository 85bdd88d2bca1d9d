#include <algorithm>

#include "text/jinja/parser.h"

namespace terrace::text::jinja {

ExpressionPtr Parser::node(ExpressionKind kind, int line) const {
  auto result = std::make_unique<Expression>();
  result->kind = kind;
  result->line = line;
  return result;
}

void Parser::deepen(Expression& parent, const Expression* child) const {
  if (!child) return;
  parent.depth = std::max(parent.depth, child->depth + 1);
  if (parent.depth > kMaxTreeDepth) {
    fail("an expression is too deep (limit " + std::to_string(kMaxTreeDepth) + " operations inside each other)");
  }
}

void Parser::add(Expression& parent, ExpressionPtr child) const {
  deepen(parent, child.get());
  parent.children.push_back(std::move(child));
}

ExpressionPtr Parser::binary(ExpressionKind kind, Operator op, ExpressionPtr left, ExpressionPtr right) const {
  auto result = node(kind, left->line);
  result->operators.push_back(op);
  add(*result, std::move(left));
  add(*result, std::move(right));
  return result;
}

ExpressionPtr Parser::parse_expression(bool with_condition) { return with_condition ? parse_condition() : parse_or(); }

ExpressionPtr Parser::parse_condition() {
  const Nesting nesting(*this);
  auto value = parse_or();
  while (accept_name("if")) {
    auto result = node(ExpressionKind::condition, value->line);
    add(*result, parse_or());
    add(*result, std::move(value));
    add(*result, accept_name("else") ? parse_condition() : nullptr);
    value = std::move(result);
  }
  return value;
}

ExpressionPtr Parser::parse_or() {
  auto left = parse_and();
  while (accept_name("or")) left = binary(ExpressionKind::logic, Operator::logical_or, std::move(left), parse_and());
  return left;
}

ExpressionPtr Parser::parse_and() {
  auto left = parse_not();
  while (accept_name("and")) left = binary(ExpressionKind::logic, Operator::logical_and, std::move(left), parse_not());
  return left;
}

ExpressionPtr Parser::parse_not() {
  if (!current().is_name("not")) return parse_compare();
  const Nesting nesting(*this);
  auto result = node(ExpressionKind::unary, next().line);
  result->operators.push_back(Operator::logical_not);
  add(*result, parse_not());
  return result;
}

ExpressionPtr Parser::parse_compare() {
  auto first = parse_sum();
  ExpressionPtr result;
  while (true) {
    static constexpr std::pair<std::string_view, Operator> kSigns[] = {
        {"==", Operator::equal},      {"!=", Operator::not_equal}, {"<", Operator::less},
        {"<=", Operator::less_equal}, {">", Operator::greater},    {">=", Operator::greater_equal}};
    const auto* sign =
        std::find_if(std::begin(kSigns), std::end(kSigns), [&](const auto& s) { return current().is(s.first); });
    Operator op = Operator::in;
    if (sign != std::end(kSigns)) {
      op = sign->second;
      next();
    } else if (current().is_name("not") && ahead().is_name("in")) {
      op = Operator::not_in;
      next();
      next();
    } else if (!accept_name("in")) {
      break;
    }
    if (!result) {
      result = node(ExpressionKind::compare, first->line);
      add(*result, std::move(first));
    }
    result->operators.push_back(op);
    add(*result, parse_sum());
  }
  return result ? std::move(result) : std::move(first);
}

ExpressionPtr Parser::parse_sum() {
  auto left = parse_concat();
  while (current().is("+") || current().is("-")) {
    const Operator op = next().text == "+" ? Operator::add : Operator::subtract;
    left = binary(ExpressionKind::binary, op, std::move(left), parse_concat());
  }
  return left;
}

ExpressionPtr Parser::parse_concat() {
  auto first = parse_product();
  if (!current().is("~")) return first;
  auto result = node(ExpressionKind::concat, first->line);
  add(*result, std::move(first));
  while (accept("~")) add(*result, parse_product());
  return result;
}

ExpressionPtr Parser::parse_product() {
  auto left = parse_power();
  while (true) {
    Operator op = Operator::multiply;
    if (current().is("/")) {
      op = Operator::divide;
    } else if (current().is("//")) {
      op = Operator::floor_divide;
    } else if (current().is("%")) {
      op = Operator::modulo;
    } else if (!current().is("*")) {
      return left;
    }
    next();
    left = binary(ExpressionKind::binary, op, std::move(left), parse_power());
  }
}

ExpressionPtr Parser::parse_power() {
  // Unlike in Python, ** groups to the left, and a sign on its left binds tighter.
  auto left = parse_unary();
  while (accept("**")) left = binary(ExpressionKind::binary, Operator::power, std::move(left), parse_unary());
  return left;
}

ExpressionPtr Parser::parse_unary(bool with_filter) {
  ExpressionPtr result;
  if (current().is("-") || current().is("+")) {
    const Nesting nesting(*this);
    const Token& sign = next();
    result = node(ExpressionKind::unary, sign.line);
    result->operators.push_back(sign.text == "-" ? Operator::negate : Operator::positive);
    add(*result, parse_unary(false));
  } else {
    result = parse_primary();
  }
  result = parse_postfix(std::move(result));
  return with_filter ? parse_filters(std::move(result)) : std::move(result);
}

ExpressionPtr Parser::parse_primary(bool with_members) {
  const Token& token = current();
  auto result = node(ExpressionKind::constant, token.line);
  switch (token.kind) {
    case TokenKind::name:
      next();
      if (token.text == "true" || token.text == "True") {
        result->value = Value(true);
      } else if (token.text == "false" || token.text == "False") {
        result->value = Value(false);
      } else if (token.text == "none" || token.text == "None") {
        result->value = Value(None{});
      } else {
        result->kind = ExpressionKind::name;
        result->name = token.text;
        if (with_members && accept(".")) {
          result->kind = ExpressionKind::member;
          result->attribute = expect_name();
        }
        for (Signature* callable : callables_) {
          callable->uses_caller |= token.text == "caller";
          callable->uses_varargs |= token.text == "varargs";
          callable->uses_kwargs |= token.text == "kwargs";
        }
      }
      return result;
    case TokenKind::string: {
      std::string text;
      while (current().kind == TokenKind::string) text += next().text;
      result->value = Value(std::move(text));
      return result;
    }
    case TokenKind::integer:
      result->value = Value(next().integer);
      return result;
    case TokenKind::floating:
      result->value = Value(next().number);
      return result;
    default:
      break;
  }
  if (token.is("(")) {
    next();
    auto inner = parse_tuple({.parenthesized = true});
    expect(")");
    return inner;
  }
  if (token.is("[")) return parse_list();
  if (token.is("{")) return parse_dict();
  fail("unexpected " + describe(token));
}

ExpressionPtr Parser::parse_tuple(const TupleRules& rules) {
  const Nesting nesting(*this);
  auto tuple = node(ExpressionKind::tuple, current().line);
  bool is_tuple = false;
  while (true) {
    if (!tuple->children.empty()) expect(",");
    if (current().kind == TokenKind::variable_end || current().kind == TokenKind::block_end || current().is(")") ||
        (!rules.end.empty() && current().is_name(rules.end))) {
      break;
    }
    add(*tuple, rules.simplified ? parse_primary(rules.with_members) : parse_expression(rules.with_condition));
    if (!current().is(",")) break;
    is_tuple = true;
  }
  if (is_tuple) return tuple;
  if (!tuple->children.empty()) return std::move(tuple->children[0]);
  if (!rules.parenthesized) fail("expected an expression, found " + describe(current()));
  return tuple;
}

ExpressionPtr Parser::parse_list() {
  auto result = node(ExpressionKind::list, expect("[").line);
  while (!current().is("]")) {
    if (!result->children.empty()) expect(",");
    if (current().is("]")) break;
    add(*result, parse_expression());
  }
  expect("]");
  return result;
}

ExpressionPtr Parser::parse_dict() {
  auto result = node(ExpressionKind::dict, expect("{").line);
  while (!current().is("}")) {
    if (!result->children.empty()) expect(",");
    if (current().is("}")) break;
    add(*result, parse_expression());
    expect(":");
    add(*result, parse_expression());
  }
  expect("}");
  return result;
}

ExpressionPtr Parser::parse_postfix(ExpressionPtr node_) {
  while (true) {
    if (current().is(".") || current().is("[")) {
      node_ = parse_subscript(std::move(node_));
    } else if (current().is("(")) {
      node_ = parse_call(std::move(node_));
    } else {
      return node_;
    }
  }
}

ExpressionPtr Parser::parse_filters(ExpressionPtr node_) {
  while (true) {
    if (current().is("|")) {
      node_ = parse_filter_chain(std::move(node_), false);
    } else if (current().is_name("is")) {
      node_ = parse_test(std::move(node_));
    } else if (current().is("(")) {
      node_ = parse_call(std::move(node_));
    } else {
      return node_;
    }
  }
}

ExpressionPtr Parser::parse_filter_chain(ExpressionPtr node_, bool starts_inline) {
  while (starts_inline || accept("|")) {
    starts_inline = false;
    auto filter = node(ExpressionKind::filter, current().line);
    filter->name = expect_name();
    while (accept(".")) filter->name += "." + expect_name();
    add(*filter, std::move(node_));
    if (current().is("(")) parse_arguments(*filter);
    node_ = std::move(filter);
  }
  return node_;
}

ExpressionPtr Parser::parse_test(ExpressionPtr node_) {
  auto test = node(ExpressionKind::test, next().line);
  const bool negated = accept_name("not");
  test->name = expect_name();
  while (accept(".")) test->name += "." + expect_name();
  add(*test, std::move(node_));
  const Token& token = current();
  const bool word = token.kind == TokenKind::name && token.text != "else" && token.text != "or" && token.text != "and";
  if (token.is("(")) {
    parse_arguments(*test);
  } else if (word || token.kind == TokenKind::string || token.kind == TokenKind::integer ||
             token.kind == TokenKind::floating || token.is("[") || token.is("{")) {
    if (token.is_name("is")) fail("tests cannot be chained with 'is'");
    auto argument = parse_postfix(parse_primary());
    deepen(*test, argument.get());
    test->arguments.push_back(std::move(argument));
  }
  if (!negated) return test;
  auto result = node(ExpressionKind::unary, test->line);
  result->operators.push_back(Operator::logical_not);
  add(*result, std::move(test));
  return result;
}

ExpressionPtr Parser::parse_subscript(ExpressionPtr node_) {
  const int line = current().line;
  if (accept(".")) {
    const Token& name = next();
    if (name.kind == TokenKind::name) {
      auto result = node(ExpressionKind::attribute, line);
      result->name = name.text;
      add(*result, std::move(node_));
      return result;
    }
    if (name.kind != TokenKind::integer) throw Failure("expected a name or number after '.'", name.line);
    auto result = node(ExpressionKind::item, line);
    auto index = node(ExpressionKind::constant, line);
    index->value = Value(name.integer);
    add(*result, std::move(node_));
    add(*result, std::move(index));
    return result;
  }
  const Nesting nesting(*this);
  expect("[");
  ExpressionPtr parts[3];
  bool is_slice = false;
  if (!current().is(":")) parts[0] = parse_expression();
  for (int i = 1; i < 3 && accept(":"); ++i) {
    is_slice = true;
    if (!current().is(":") && !current().is("]")) parts[i] = parse_expression();
  }
  if (current().is(",")) {
    if (is_slice) fail("a slice takes one dimension");
    auto tuple = node(ExpressionKind::tuple, line);
    add(*tuple, std::move(parts[0]));
    while (accept(",")) add(*tuple, parse_expression());
    parts[0] = std::move(tuple);
  }
  expect("]");
  auto result = node(is_slice ? ExpressionKind::slice : ExpressionKind::item, line);
  add(*result, std::move(node_));
  add(*result, std::move(parts[0]));
  if (is_slice) {
    add(*result, std::move(parts[1]));
    add(*result, std::move(parts[2]));
  }
  return result;
}

ExpressionPtr Parser::parse_call(ExpressionPtr node_) {
  auto result = node(ExpressionKind::call, current().line);
  add(*result, std::move(node_));
  parse_arguments(*result);
  return result;
}

void Parser::parse_arguments(Expression& call) {
  const Nesting nesting(*this);
  expect("(");
  bool first = true;
  while (!current().is(")")) {
    if (!first) {
      expect(",");
      if (current().is(")")) break;
    }
    first = false;
    ExpressionPtr argument;
    bool ordered = !call.star_star;
    if (accept("*")) {
      ordered = ordered && !call.star;
      call.star = parse_expression();
      deepen(call, call.star.get());
    } else if (accept("**")) {
      call.star_star = parse_expression();
      deepen(call, call.star_star.get());
    } else if (current().kind == TokenKind::name && ahead().is("=")) {
      std::string name = next().text;
      next();
      argument = parse_expression();
      deepen(call, argument.get());
      for (const auto& [other, value] : call.named) {
        if (other == name) fail("the argument '" + name + "' is given twice");
      }
      call.named.emplace_back(std::move(name), std::move(argument));
    } else {
      ordered = ordered && !call.star && call.named.empty();
      argument = parse_expression();
      deepen(call, argument.get());
      call.arguments.push_back(std::move(argument));
    }
    if (!ordered) fail("the arguments of a call are in the wrong order");
  }
  expect(")");
}

}  // namespace terrace::text::jinja
