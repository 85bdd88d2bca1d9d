#include "text/jinja/parser.h"

#include <algorithm>

namespace terrace::text::jinja {

void Parser::fail(const std::string& message) const { throw Failure(message, current().line); }

const Token& Parser::next() {
  const Token& token = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool Parser::accept(std::string_view sign) {
  if (!current().is(sign)) return false;
  next();
  return true;
}

bool Parser::accept_name(std::string_view word) {
  if (!current().is_name(word)) return false;
  next();
  return true;
}

const Token& Parser::expect(std::string_view sign) {
  if (!current().is(sign)) fail("expected '" + std::string(sign) + "', found " + describe(current()));
  return next();
}

std::string Parser::expect_name() {
  if (current().kind != TokenKind::name) fail("expected a name, found " + describe(current()));
  return next().text;
}

void Parser::expect_block_end() {
  if (current().kind != TokenKind::block_end) fail("expected '%}', found " + describe(current()));
  next();
}

StatementPtr Parser::statement(StatementKind kind) const {
  auto result = std::make_unique<Statement>();
  result->kind = kind;
  result->line = current().line;
  return result;
}

Body Parser::parse() { return parse_until({}); }

// Statements up to a block whose tag is one of `ends`; that tag is then the current token.
Body Parser::parse_until(std::initializer_list<std::string_view> ends) {
  const Nesting nesting(*this);
  const int opened = current().line;
  Body body;
  while (current().kind != TokenKind::end) {
    if (current().kind == TokenKind::data) {
      body.push_back(statement(StatementKind::text));
      body.back()->text = next().text;
    } else if (current().kind == TokenKind::variable_begin) {
      next();
      body.push_back(statement(StatementKind::print));
      body.back()->expressions.push_back(parse_tuple({}));
      if (current().kind != TokenKind::variable_end) fail("expected '}}', found " + describe(current()));
      next();
    } else {
      next();  // a block's begin: inside a tag nothing else can follow text
      for (const std::string_view end : ends) {
        if (current().is_name(end)) return body;
      }
      body.push_back(parse_statement());
      expect_block_end();
    }
  }
  if (ends.size() > 0) {
    throw Failure("the block is never closed: '" + std::string(*(ends.end() - 1)) + "' is missing", opened);
  }
  return body;
}

Body Parser::parse_block_body(std::initializer_list<std::string_view> ends) {
  accept(":");
  expect_block_end();
  return parse_until(ends);
}

StatementPtr Parser::parse_statement() {
  if (current().kind != TokenKind::name) fail("expected the name of a tag, found " + describe(current()));
  const std::string& tag = current().text;
  if (tag == "if") return parse_if();
  if (tag == "for") return parse_for();
  if (tag == "set") return parse_set();
  if (tag == "macro") return parse_macro();
  if (tag == "call") return parse_call_block();
  if (tag == "filter") return parse_filter_block();
  if (tag == "with") return parse_with();
  if (tag == "generation") return parse_scope("endgeneration", false);
  if (tag == "autoescape") return parse_scope("endautoescape", true);
  if (tag == "print") return parse_print();
  if (tag == "break") return parse_loop_control(StatementKind::break_loop);
  if (tag == "continue") return parse_loop_control(StatementKind::continue_loop);
  for (const char* refused : {"include", "import", "from", "extends", "block"}) {
    if (tag == refused) fail("'" + tag + "' is not supported: a chat template is one file");
  }
  fail("unknown tag '" + tag + "'");
}

StatementPtr Parser::parse_if() {
  auto first = statement(StatementKind::condition);
  Statement* branch = first.get();
  next();
  int branches = 0;
  while (true) {
    branch->expressions.push_back(parse_tuple({.with_condition = false}));
    branch->body = parse_block_body({"elif", "else", "endif"});
    const std::string tag = next().text;
    if (tag == "endif") break;
    if (tag == "else") {
      branch->otherwise = parse_block_body({"endif"});
      next();
      break;
    }
    if (++branches > kMaxNesting) fail("an if has too many branches (limit " + std::to_string(kMaxNesting) + ")");
    branch->otherwise.push_back(statement(StatementKind::condition));
    branch = branch->otherwise.back().get();
  }
  return first;
}

StatementPtr Parser::parse_for() {
  auto result = statement(StatementKind::loop);
  next();
  result->target = parse_target({.simplified = true, .end = "in"});
  if (!accept_name("in")) fail("expected 'in', found " + describe(current()));
  result->expressions.push_back(parse_tuple({.with_condition = false, .end = "recursive"}));
  if (accept_name("if")) result->expressions.push_back(parse_expression());
  result->recursive = accept_name("recursive");
  ++loops_;
  result->body = parse_block_body({"else", "endfor"});
  --loops_;
  if (next().text == "else") {
    result->otherwise = parse_block_body({"endfor"});
    next();
  }
  return result;
}

StatementPtr Parser::parse_set() {
  auto result = statement(StatementKind::assign);
  next();
  result->target = parse_target({.simplified = true, .with_members = true});
  if (accept("=")) {
    result->expressions.push_back(parse_tuple({}));
    return result;
  }
  result->kind = StatementKind::assign_block;
  result->expressions.push_back(parse_filter_chain(nullptr, false));
  result->body = parse_block_body({"endset"});
  next();
  return result;
}

std::string Parser::parse_name_target() {
  auto target = node(ExpressionKind::name, current().line);
  target->name = expect_name();
  check_target(*target);
  return target->name;
}

void Parser::parse_signature(Signature& signature) {
  expect("(");
  while (!current().is(")")) {
    if (!signature.names.empty()) expect(",");
    signature.names.push_back(parse_name_target());
    if (accept("=")) {
      signature.defaults.push_back(parse_expression());
    } else if (!signature.defaults.empty()) {
      fail("a parameter without default follows one with default");
    }
  }
  expect(")");
  for (size_t i = 0; i < signature.names.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (signature.names[i] == signature.names[k]) fail("the parameter '" + signature.names[i] + "' is named twice");
    }
  }
}

Body Parser::parse_callable_body(Signature& signature, std::string_view end) {
  const int loops = std::exchange(loops_, 0);
  callables_.push_back(&signature);
  Body body = parse_block_body({end});
  callables_.pop_back();
  loops_ = loops;
  next();
  return body;
}

StatementPtr Parser::parse_macro() {
  auto result = statement(StatementKind::macro);
  next();
  result->text = parse_name_target();
  parse_signature(result->signature);
  result->body = parse_callable_body(result->signature, "endmacro");
  return result;
}

StatementPtr Parser::parse_call_block() {
  auto result = statement(StatementKind::call_block);
  next();
  if (current().is("(")) parse_signature(result->signature);
  result->expressions.push_back(parse_expression());
  if (result->expressions[0]->kind != ExpressionKind::call) fail("a call block needs a call");
  result->body = parse_callable_body(result->signature, "endcall");
  return result;
}

StatementPtr Parser::parse_filter_block() {
  auto result = statement(StatementKind::filter_block);
  next();
  result->expressions.push_back(parse_filter_chain(nullptr, true));
  result->body = parse_block_body({"endfilter"});
  next();
  return result;
}

StatementPtr Parser::parse_with() {
  auto result = statement(StatementKind::with);
  next();
  while (current().kind != TokenKind::block_end) {
    if (!result->targets.empty()) expect(",");
    result->targets.push_back(parse_target({.simplified = true}));
    expect("=");
    result->expressions.push_back(parse_expression());
  }
  result->body = parse_block_body({"endwith"});
  next();
  return result;
}

StatementPtr Parser::parse_scope(std::string_view end, bool has_option) {
  auto result = statement(StatementKind::scope);
  next();
  if (has_option) parse_expression();  // nothing is ever escaped, whatever it says
  result->body = parse_block_body({end});
  next();
  return result;
}

StatementPtr Parser::parse_print() {
  auto result = statement(StatementKind::print);
  next();
  while (current().kind != TokenKind::block_end) {
    if (!result->expressions.empty()) expect(",");
    result->expressions.push_back(parse_expression());
  }
  return result;
}

StatementPtr Parser::parse_loop_control(StatementKind kind) {
  if (loops_ == 0) fail("'" + current().text + "' is outside of a loop");
  auto result = statement(kind);
  next();
  return result;
}

ExpressionPtr Parser::parse_target(const TupleRules& rules) {
  auto target = parse_tuple(rules);
  check_target(*target);
  return target;
}

void Parser::check_target(const Expression& target) const {
  if (target.kind == ExpressionKind::member) return;
  if (target.kind == ExpressionKind::tuple) {
    for (const auto& child : target.children) check_target(*child);
    return;
  }
  static constexpr std::string_view kConstants[] = {"true", "false", "none", "True", "False", "None"};
  const bool constant = std::find(std::begin(kConstants), std::end(kConstants), target.name) != std::end(kConstants);
  if (target.kind != ExpressionKind::name || constant) fail("this cannot be assigned to");
  if (target.name == "loop" && loops_ > 0) fail("'loop' cannot be assigned to inside a loop");
}

}  // namespace terrace::text::jinja
