// Builds the tree of a template from its tokens; the grammar is Jinja's, precedences included.
#pragma once

#include <initializer_list>
#include <string_view>

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace terrace::text::jinja {

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  /// The whole template. Throws Failure.
  Body parse();

 private:
  class Nesting;
  struct TupleRules {
    bool simplified = false;     ///< only names and literals
    bool with_condition = true;  ///< allows `a if b else c`
    bool parenthesized = false;  ///< allows an empty tuple
    bool with_members = false;   ///< allows name.attribute as a target
    std::string_view end = {};   ///< a name that ends the tuple
  };

  // parser.cpp: statements
  Body parse_until(std::initializer_list<std::string_view> ends);
  Body parse_block_body(std::initializer_list<std::string_view> ends);
  StatementPtr parse_statement();
  StatementPtr parse_if();
  StatementPtr parse_for();
  StatementPtr parse_set();
  StatementPtr parse_macro();
  StatementPtr parse_call_block();
  StatementPtr parse_filter_block();
  StatementPtr parse_with();
  StatementPtr parse_scope(std::string_view end, bool has_option);
  StatementPtr parse_print();
  StatementPtr parse_loop_control(StatementKind kind);
  void parse_signature(Signature& signature);
  Body parse_callable_body(Signature& signature, std::string_view end);
  ExpressionPtr parse_target(const TupleRules& rules);
  std::string parse_name_target();
  void check_target(const Expression& target) const;

  // parser_expressions.cpp
  ExpressionPtr parse_expression(bool with_condition = true);
  ExpressionPtr parse_condition();
  ExpressionPtr parse_or();
  ExpressionPtr parse_and();
  ExpressionPtr parse_not();
  ExpressionPtr parse_compare();
  ExpressionPtr parse_sum();
  ExpressionPtr parse_concat();
  ExpressionPtr parse_product();
  ExpressionPtr parse_power();
  ExpressionPtr parse_unary(bool with_filter = true);
  ExpressionPtr parse_primary(bool with_members = false);
  ExpressionPtr parse_tuple(const TupleRules& rules);
  ExpressionPtr parse_list();
  ExpressionPtr parse_dict();
  ExpressionPtr parse_postfix(ExpressionPtr node);
  ExpressionPtr parse_filters(ExpressionPtr node);
  ExpressionPtr parse_filter_chain(ExpressionPtr node, bool starts_inline);
  ExpressionPtr parse_test(ExpressionPtr node);
  ExpressionPtr parse_subscript(ExpressionPtr node);
  ExpressionPtr parse_call(ExpressionPtr node);
  void parse_arguments(Expression& call);

  // Tokens and nodes
  const Token& current() const { return tokens_[at_]; }
  const Token& ahead() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  const Token& next();
  bool accept(std::string_view sign);
  bool accept_name(std::string_view word);
  const Token& expect(std::string_view sign);
  std::string expect_name();
  void expect_block_end();
  [[noreturn]] void fail(const std::string& message) const;
  ExpressionPtr node(ExpressionKind kind, int line) const;
  ExpressionPtr binary(ExpressionKind kind, Operator op, ExpressionPtr left, ExpressionPtr right) const;
  StatementPtr statement(StatementKind kind) const;
  void add(Expression& parent, ExpressionPtr child) const;
  void deepen(Expression& parent, const Expression* child) const;

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
  int loops_ = 0;
  std::vector<Signature*> callables_;  ///< the macros and call blocks around the current place
};

/// Counts one level of nesting while it lives.
class Parser::Nesting {
 public:
  explicit Nesting(Parser& parser) : parser_(parser) {
    if (++parser_.nesting_ > kMaxNesting) {
      --parser_.nesting_;
      parser_.fail("the template is nested too deeply (limit " + std::to_string(kMaxNesting) + ")");
    }
  }
  ~Nesting() { --parser_.nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  Parser& parser_;
};

}  // namespace terrace::text::jinja
