// Splits a template into text and tokens, with Jinja's white space rules as Hugging Face sets them: trim_blocks,
// lstrip_blocks, one trailing newline dropped.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace terrace::text::jinja {

enum class TokenKind {
  data,
  variable_begin,
  variable_end,
  block_begin,
  block_end,
  name,
  string,
  integer,
  floating,
  punctuation,
  end
};

struct Token {
  TokenKind kind = TokenKind::end;
  int line = 1;
  std::string text;  ///< of data, names and strings the value; of punctuation the sign
  int64_t integer = 0;
  double number = 0;

  bool is(std::string_view sign) const { return kind == TokenKind::punctuation && text == sign; }
  bool is_name(std::string_view word) const { return kind == TokenKind::name && text == word; }
};

/// All tokens of `source`, the last one of kind `end`. Throws Failure.
std::vector<Token> tokenize(std::string source);

/// A token as messages show it.
std::string describe(const Token& token);

}  // namespace terrace::text::jinja
