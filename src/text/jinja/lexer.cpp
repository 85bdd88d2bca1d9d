#include "text/jinja/lexer.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "text/jinja/limits.h"
#include "text/jinja/literals.h"
#include "text/jinja/utf8.h"

namespace terrace::text::jinja {
namespace {

bool is_name_byte(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x80 || c == '_' || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string normalize_newlines(const std::string& source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(const std::string& source) : source_(normalize_newlines(source)), rest_(source_) {}

  std::vector<Token> run() {
    while (at_ < source_.size()) root();
    push(TokenKind::end, "");
    return std::move(tokens_);
  }

 private:
  bool looking_at(std::string_view text) const { return rest_.substr(at_).substr(0, text.size()) == text; }
  bool looking_at(size_t at, std::string_view text) const {
    return at <= rest_.size() && rest_.substr(at, text.size()) == text;
  }
  char peek(size_t at) const { return at < source_.size() ? source_[at] : '\0'; }
  size_t skip_space(size_t at) const { return at + utf8::leading_space(rest_.substr(std::min(at, rest_.size()))); }

  void push(TokenKind kind, std::string text) {
    Token token;
    token.kind = kind;
    token.line = line_;
    token.text = std::move(text);
    tokens_.push_back(std::move(token));
  }

  // Moves to `to`, counting lines.
  void advance(size_t to) {
    line_ += static_cast<int>(std::count(rest_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         rest_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    if (to > at_) line_starting_ = source_[to - 1] == '\n';
    at_ = to;
  }

  // Emits the text up to `end`, stripped as the tag's sign and kind ask.
  void text_before_tag(size_t end, char sign, bool is_variable) {
    std::string_view text = rest_.substr(at_, end - at_);
    if (sign == '-') {
      text.remove_suffix(utf8::trailing_space(text));
    } else if (sign != '+' && !is_variable) {
      const size_t newline = text.rfind('\n');
      const size_t line_start = newline == std::string_view::npos ? 0 : newline + 1;
      if ((line_start > 0 || line_starting_) &&
          utf8::leading_space(text.substr(line_start)) == text.size() - line_start) {
        text = text.substr(0, line_start);
      }
    }
    if (!text.empty()) push(TokenKind::data, std::string(text));
    advance(end);
  }

  // The end of a `raw` tag that starts at `at` ("{%"), or npos where there is none.
  size_t raw_tag_end(size_t at) const {
    size_t i = at + 2;
    if (peek(i) == '-' || peek(i) == '+') ++i;
    i = skip_space(i);
    if (!looking_at(i, "raw")) return std::string::npos;
    i = skip_space(i + 3);
    if (looking_at(i, "-%}")) return skip_space(i + 3);
    return looking_at(i, "%}") ? i + 2 : std::string::npos;
  }

  void root() {
    size_t at = at_;
    while (true) {
      at = source_.find('{', at);
      if (at == std::string::npos) {
        push(TokenKind::data, source_.substr(at_));
        advance(source_.size());
        return;
      }
      const char next = peek(at + 1);
      if (next == '{' || next == '%' || next == '#') break;
      ++at;
    }
    const char kind = source_[at + 1];
    const char sign = peek(at + 2) == '-' || peek(at + 2) == '+' ? source_[at + 2] : '\0';
    text_before_tag(at, sign, kind == '{');
    const size_t raw_end = kind == '%' ? raw_tag_end(at) : std::string::npos;
    if (raw_end != std::string::npos) {
      advance(raw_end);
      raw();
      return;
    }
    const size_t inside = at + 2 + (sign ? 1 : 0);
    if (kind == '#') {
      advance(inside);
      comment();
    } else {
      push(kind == '{' ? TokenKind::variable_begin : TokenKind::block_begin, "");
      advance(inside);
      code(kind == '{');
    }
  }

  void comment() {
    const size_t close = source_.find("#}", at_);
    if (close == std::string::npos) throw Failure("the comment has no end", line_);
    const char sign = close > at_ ? source_[close - 1] : '\0';
    size_t end = close + 2;
    if (sign == '-') {
      end = skip_space(end);
    } else if (sign != '+' && peek(end) == '\n') {
      ++end;
    }
    advance(end);
  }

  // The end of a block's closing "%}" at `at`, with the white space that it takes, or npos.
  size_t block_close(size_t at) const {
    if (looking_at(at, "+%}")) return at + 3;
    if (looking_at(at, "-%}")) return skip_space(at + 3);
    if (!looking_at(at, "%}")) return std::string::npos;
    return peek(at + 2) == '\n' ? at + 3 : at + 2;
  }

  void raw() {
    for (size_t at = source_.find("{%", at_); at != std::string::npos; at = source_.find("{%", at + 1)) {
      const char sign = peek(at + 2) == '-' || peek(at + 2) == '+' ? source_[at + 2] : '\0';
      size_t i = skip_space(at + 2 + (sign ? 1 : 0));
      if (!looking_at(i, "endraw")) continue;
      const size_t end = block_close(skip_space(i + 6));
      if (end == std::string::npos) continue;
      text_before_tag(at, sign, false);
      advance(end);
      return;
    }
    throw Failure("the raw block has no end", line_);
  }

  void code(bool is_variable) {
    std::string open;
    while (true) {
      if (open.empty() && close_code(is_variable)) return;
      if (at_ >= source_.size()) throw Failure("unexpected end of template inside a tag", line_);
      const size_t space = utf8::leading_space(rest_.substr(at_));
      if (space > 0) {
        advance(at_ + space);
        continue;
      }
      const char c = source_[at_];
      if (c >= '0' && c <= '9') {
        number();
      } else if (is_name_byte(c)) {
        size_t end = at_;
        while (end < source_.size() && is_name_byte(source_[end])) ++end;
        push(TokenKind::name, source_.substr(at_, end - at_));
        advance(end);
      } else if (c == '\'' || c == '"') {
        string_literal(c);
      } else {
        punctuation(open);
      }
    }
  }

  bool close_code(bool is_variable) {
    size_t end = std::string::npos;
    if (is_variable) {
      if (looking_at("-}}")) {
        end = skip_space(at_ + 3);
      } else if (looking_at("}}")) {
        end = at_ + 2;
      }
    } else {
      end = block_close(at_);
    }
    if (end == std::string::npos) return false;
    push(is_variable ? TokenKind::variable_end : TokenKind::block_end, "");
    advance(end);
    return true;
  }

  void punctuation(std::string& open) {
    static constexpr std::string_view kSigns[] = {"//", "**", "==", "!=", ">=", "<=", "+", "-", "/",
                                                  "*",  "%",  "~",  "[",  "]",  "(",  ")", "{", "}",
                                                  ">",  "<",  "=",  ".",  ":",  "|",  ",", ";"};
    for (const std::string_view sign : kSigns) {
      if (!looking_at(sign)) continue;
      const char c = sign[0];
      if (c == '(' || c == '[' || c == '{') open += c == '(' ? ')' : c == '[' ? ']' : '}';
      if (c == ')' || c == ']' || c == '}') {
        if (open.empty()) throw Failure("unexpected '" + std::string(sign) + "'", line_);
        if (open.back() != c)
          throw Failure("unexpected '" + std::string(sign) + "', expected '" + open.back() + "'", line_);
        open.pop_back();
      }
      push(TokenKind::punctuation, std::string(sign));
      advance(at_ + sign.size());
      return;
    }
    throw Failure("unexpected character '" + source_.substr(at_, utf8::decode(rest_.substr(at_)).size) + "'", line_);
  }

  void string_literal(char mark) {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != mark) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) throw Failure("a string has no end", line_);
    push(TokenKind::string, unescape(rest_.substr(at_ + 1, end - at_ - 1), line_));
    advance(end + 1);
  }

  void number() {
    const bool after_dot = at_ > 0 && source_[at_ - 1] == '.';
    const NumberLiteral literal = scan_number(rest_.substr(at_), !after_dot, line_);
    push(literal.is_float ? TokenKind::floating : TokenKind::integer, std::string(rest_.substr(at_, literal.size)));
    tokens_.back().integer = literal.integer;
    tokens_.back().number = literal.number;
    advance(at_ + literal.size);
  }

  std::string source_;
  std::string_view rest_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string source) { return Lexer(source).run(); }

std::string describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::data:
      return "text";
    case TokenKind::variable_begin:
      return "'{{'";
    case TokenKind::variable_end:
      return "'}}'";
    case TokenKind::block_begin:
      return "'{%'";
    case TokenKind::block_end:
      return "'%}'";
    case TokenKind::string:
      return "a string";
    case TokenKind::end:
      return "the end of the template";
    default:
      return "'" + token.text + "'";
  }
}

}  // namespace terrace::text::jinja
