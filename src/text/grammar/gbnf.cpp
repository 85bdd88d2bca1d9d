#include "text/grammar/gbnf.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "text/unicode.h"

namespace terrace::text {
namespace {

constexpr size_t kMaxSource = 1 << 20;
constexpr int kMaxDepth = 200;

bool is_name_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

std::string utf8(uint32_t code) {
  const auto continuation = [&](uint32_t shift) { return static_cast<char>(0x80 | (code >> shift & 0x3F)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xC0 | code >> 6), continuation(0)};
  if (code < 0x10000) return {static_cast<char>(0xE0 | code >> 12), continuation(6), continuation(0)};
  return {static_cast<char>(0xF0 | code >> 18), continuation(12), continuation(6), continuation(0)};
}

class Parser {
 public:
  explicit Parser(std::string_view source) : source_(source) {}

  Result<Grammar> parse() {
    skip_space(true);
    while (at_ < source_.size()) TERRACE_CHECK(parse_rule());
    if (!builder_.is_defined("root"))
      return fail("grammar, {}: there is no rule called 'root', with which the grammar begins", place(at_));
    for (const auto& [name, at] : uses_)
      if (!builder_.is_defined(name)) return fail("grammar, {}: rule '{}' is not defined", place(at), name);
    return builder_.build(builder_.rule("root"));
  }

 private:
  std::string place(size_t at) const {
    const std::string_view before = source_.substr(0, at);
    const size_t line_start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
    return fmt::format("line {}, column {}", 1 + std::count(before.begin(), before.end(), '\n'), 1 + at - line_start);
  }

  template <class... Args>
  Error error_at(size_t at, fmt::format_string<Args...> format, Args&&... args) const {
    return fail("grammar, {}: {}", place(at), fmt::format(format, std::forward<Args>(args)...));
  }

  char peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }

  bool take(std::string_view text) {
    if (!source_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  void skip_space(bool lines) {
    for (; at_ < source_.size(); ++at_) {
      const char c = source_[at_];
      if (c == '#') {
        at_ = std::min(source_.find('\n', at_), source_.size());
        if (at_ == source_.size()) return;
        if (!lines) return;
      } else if (c != ' ' && c != '\t' && !(lines && (c == '\n' || c == '\r'))) {
        return;
      }
    }
  }

  Result<std::string_view> parse_name() {
    const size_t begin = at_;
    while (is_name_character(peek())) ++at_;
    if (at_ == begin) return error_at(at_, "expected a rule's name");
    return source_.substr(begin, at_ - begin);
  }

  Status parse_rule() {
    const size_t begin = at_;
    TERRACE_TRY(const std::string_view name, parse_name());
    skip_space(false);
    if (!take("::=")) return error_at(at_, "expected '::=' after '{}'", name);
    skip_space(true);
    if (builder_.is_defined(name)) return error_at(begin, "rule '{}' is defined twice", name);
    TERRACE_TRY(const Expr body, parse_alternatives(0));
    builder_.define(name, body);
    const char next = peek();
    if (at_ < source_.size() && next != '\n' && next != '\r')
      return error_at(at_, "unexpected '{}' in rule '{}'", shown(next), name);
    skip_space(true);
    return Done{};
  }

  static std::string shown(char c) {
    return c > 0x20 && c < 0x7F ? std::string(1, c) : fmt::format("\\x{:02X}", static_cast<uint8_t>(c));
  }

  // `depth` of parentheses around it, inside which lines may end.
  Result<Expr> parse_alternatives(int depth) {
    if (depth > kMaxDepth) return error_at(at_, "parentheses nest deeper than {} levels", kMaxDepth);
    std::vector<Expr> alternatives;
    do {
      if (!alternatives.empty()) skip_space(true);
      TERRACE_TRY(const Expr sequence, parse_sequence(depth));
      alternatives.push_back(sequence);
    } while (take("|"));
    return builder_.choice(std::move(alternatives));
  }

  Result<Expr> parse_sequence(int depth) {
    std::vector<Expr> parts;
    for (;;) {
      TERRACE_TRY(std::optional<Expr> part, parse_part(depth));
      if (!part) return builder_.sequence(std::move(parts));
      skip_space(depth > 0);
      for (;;) {
        TERRACE_TRY(const bool repeated, parse_repetition(*part));
        if (!repeated) break;
        skip_space(depth > 0);
      }
      parts.push_back(*part);
    }
  }

  // Nothing where a sequence ends.
  Result<std::optional<Expr>> parse_part(int depth) {
    const size_t begin = at_;
    if (take("\"")) return parse_literal(begin);
    if (take("[")) return parse_class(begin);
    if (take(".")) return std::optional(builder_.any_character());
    if (take("<")) return parse_token(begin);
    if (take("!")) return error_at(begin, "'any other token' is not supported; use a character class");
    if (take("(")) {
      skip_space(true);
      TERRACE_TRY(const Expr group, parse_alternatives(depth + 1));
      if (!take(")")) return error_at(at_, "expected ')' for the '(' at {}", place(begin));
      return std::optional(group);
    }
    if (!is_name_character(peek())) return std::optional<Expr>();
    TERRACE_TRY(const std::string_view name, parse_name());
    uses_.emplace_back(name, begin);
    return std::optional(builder_.rule(name));
  }

  Result<std::optional<Expr>> parse_literal(size_t begin) {
    std::string text;
    while (!take("\"")) {
      if (at_ >= source_.size() || peek() == '\n') return error_at(begin, "this '\"' has no end");
      TERRACE_TRY(const uint32_t code, parse_character());
      text += utf8(code);
    }
    return std::optional(builder_.literal(text));
  }

  Result<std::optional<Expr>> parse_class(size_t begin) {
    const bool negated = take("^");
    std::vector<CodePoints> ranges;
    while (!take("]")) {
      if (at_ >= source_.size() || peek() == '\n') return error_at(begin, "this '[' has no end");
      TERRACE_TRY(const uint32_t first, parse_character());
      uint32_t last = first;
      if (peek() == '-' && peek(1) != ']') {
        const size_t dash = at_++;
        TERRACE_TRY(last, parse_character());
        if (last < first) return error_at(dash, "this range ends before it begins");
      }
      ranges.push_back({first, last});
    }
    return std::optional(builder_.characters(std::move(ranges), negated));
  }

  Result<std::optional<Expr>> parse_token(size_t begin) {
    const size_t end = source_.find('>', at_);
    const std::string_view text = source_.substr(begin, end - begin + 1);
    if (end == std::string_view::npos || text.find('\n') != std::string_view::npos)
      return error_at(begin, "this '<' has no end");
    if (peek() == '[') return error_at(begin, "tokens by number are not supported; write the token's text");
    at_ = end + 1;
    return std::optional(builder_.literal(text));
  }

  Result<uint32_t> parse_character() {
    if (at_ >= source_.size()) return error_at(at_, "the grammar ends inside a character");
    if (peek() == '\\') return parse_escape();
    const Utf8Step step = utf8_step(source_.substr(at_));
    if (step.kind != Utf8Step::Kind::valid) return error_at(at_, "these bytes are not UTF-8");
    const uint32_t code = utf8_decode(source_.substr(at_, step.length));
    at_ += step.length;
    return code;
  }

  Result<uint32_t> parse_escape() {
    const size_t begin = at_++;
    const char kind = peek();
    ++at_;
    switch (kind) {
      case 'n':
        return uint32_t{'\n'};
      case 't':
        return uint32_t{'\t'};
      case 'r':
        return uint32_t{'\r'};
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
      case '^':
        return static_cast<uint32_t>(kind);
      case 'x':
        return parse_hex(begin, 2);
      case 'u':
        return parse_hex(begin, 4);
      case 'U':
        return parse_hex(begin, 8);
      default:
        return error_at(begin, "'\\{}' is not an escape; known are \\n \\r \\t \\\\ \\\" \\[ \\] \\- \\^ \\x \\u \\U",
                        shown(kind));
    }
  }

  Result<uint32_t> parse_hex(size_t begin, int digits) {
    uint64_t code = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char c = peek();
      const int value = c >= '0' && c <= '9'   ? c - '0'
                        : c >= 'a' && c <= 'f' ? c - 'a' + 10
                        : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                               : -1;
      if (value < 0) return error_at(begin, "this escape needs {} hexadecimal digits", digits);
      code = code << 4 | static_cast<uint64_t>(value);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF))
      return error_at(begin, "U+{:04X} is not a character", code);
    return static_cast<uint32_t>(code);
  }

  Result<std::optional<uint32_t>> parse_count() {
    const size_t begin = at_;
    uint64_t count = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      count = count * 10 + static_cast<uint64_t>(peek() - '0');
      if (count > 100'000) return error_at(begin, "this count is above 100000");
    }
    return at_ == begin ? std::nullopt : std::optional(static_cast<uint32_t>(count));
  }

  Result<bool> parse_repetition(Expr& part) {
    const size_t begin = at_;
    uint32_t min = 0;
    std::optional<uint32_t> max;
    if (take("?")) {
      max = 1;
    } else if (take("+")) {
      min = 1;
    } else if (take("{")) {
      TERRACE_CHECK(parse_counts(begin, min, max));
    } else if (!take("*")) {
      return false;
    }
    part = builder_.repeat(part, min, max);
    return true;
  }

  Status parse_counts(size_t begin, uint32_t& min, std::optional<uint32_t>& max) {
    skip_space(false);
    TERRACE_TRY(const auto first, parse_count());
    skip_space(false);
    min = first.value_or(0);
    max = first;
    if (take(",")) {
      skip_space(false);
      TERRACE_TRY(max, parse_count());
      skip_space(false);
    } else if (!first) {
      return error_at(at_, "expected a count");
    }
    if (!take("}")) return error_at(at_, "expected '}}' for the '{{' at {}", place(begin));
    if (max && *max < min) return error_at(begin, "the maximum {} is below the minimum {}", *max, min);
    return Done{};
  }

  std::string_view source_;
  size_t at_ = 0;
  GrammarBuilder builder_;
  std::vector<std::pair<std::string_view, size_t>> uses_;  ///< rules and where, in order
};

}  // namespace

Result<Grammar> parse_gbnf(std::string_view source) {
  if (source.size() > kMaxSource) return fail("the grammar is longer than {} bytes", kMaxSource);
  return Parser(source).parse();
}

}  // namespace terrace::text
