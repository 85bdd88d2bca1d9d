#include "text/grammar/pattern.h"

#include <optional>
#include <string>
#include <vector>

#include "text/grammar/json_text.h"
#include "text/grammar/utf8_ranges.h"
#include "text/unicode.h"

namespace terrace::text {
namespace {

constexpr int kMaxDepth = 64;
constexpr size_t kMaxPattern = 1 << 16;
constexpr uint32_t kMaxCount = 100'000;

using Set = std::vector<CodePoints>;

const Set kDigits = {{'0', '9'}};
const Set kWord = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
const Set kSpaces = {{9, 13},          {' ', ' '},       {0xA0, 0xA0},     {0x1680, 0x1680}, {0x2000, 0x200A},
                     {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
const Set kLineEnds = {{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
constexpr std::string_view kSyntax = "^$\\.*+?()[]{}|/-";

struct Item {
  enum class Kind : uint8_t { set, group, text_start, text_end };
  Kind kind = Kind::set;
  size_t at = 0;  ///< in the pattern
  Set set;
  std::vector<std::vector<Item>> alternatives;  ///< of a group
  bool repeated = false;
  uint32_t min = 1;
  std::optional<uint32_t> max = 1;
};
using Sequence = std::vector<Item>;

class Parser {
 public:
  explicit Parser(std::string_view pattern) : pattern_(pattern) {}

  Result<std::vector<Sequence>> parse() {
    TERRACE_TRY(auto alternatives, parse_alternatives(0));
    if (at_ < pattern_.size()) return error_at(at_, "this ')' has no '('");
    return alternatives;
  }

 private:
  static Error error_at(size_t at, std::string_view what) { return fail("at offset {} of the pattern: {}", at, what); }

  char peek(size_t ahead = 0) const { return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0'; }

  bool take(std::string_view text) {
    if (!pattern_.substr(at_).starts_with(text)) return false;
    at_ += text.size();
    return true;
  }

  Result<std::vector<Sequence>> parse_alternatives(int depth) {
    if (depth > kMaxDepth) return error_at(at_, "groups nest too deep");
    std::vector<Sequence> alternatives;
    do {
      Sequence& sequence = alternatives.emplace_back();
      while (at_ < pattern_.size() && peek() != '|' && peek() != ')') {
        TERRACE_TRY(Item item, parse_item(depth));
        TERRACE_CHECK(parse_count(item));
        sequence.push_back(std::move(item));
      }
    } while (take("|"));
    return alternatives;
  }

  Result<Item> parse_item(int depth) {
    Item item{.at = at_};
    if (take("(")) return parse_group(std::move(item), depth);
    if (take("^") || take("$")) {
      item.kind = pattern_[item.at] == '^' ? Item::Kind::text_start : Item::Kind::text_end;
      return item;
    }
    if (take(".")) {
      item.set = complement(kLineEnds);
      return item;
    }
    if (take("[")) {
      TERRACE_TRY(item.set, parse_class());
      return item;
    }
    if (std::string_view("*+?{").find(peek()) != std::string_view::npos)
      return error_at(at_, "there is nothing to repeat; a literal sign needs a backslash");
    TERRACE_TRY(item.set, parse_character(false));
    return item;
  }

  Result<Item> parse_group(Item item, int depth) {
    item.kind = Item::Kind::group;
    if (take("?")) {
      if (take("<") && peek() != '=' && peek() != '!') {
        const size_t end = pattern_.find('>', at_);
        if (end == std::string_view::npos) return error_at(item.at, "this group's name has no end");
        at_ = end + 1;
      } else if (!take(":")) {
        return error_at(item.at, "look-around and flags cannot be expressed");
      }
    }
    TERRACE_TRY(item.alternatives, parse_alternatives(depth + 1));
    if (!take(")")) return error_at(item.at, "this '(' has no ')'");
    return item;
  }

  Status parse_count(Item& item) {
    const size_t begin = at_;
    if (take("*")) {
      item.min = 0, item.max.reset();
    } else if (take("+")) {
      item.min = 1, item.max.reset();
    } else if (take("?")) {
      item.min = 0, item.max = 1;
    } else if (take("{")) {
      TERRACE_TRY(const auto min, parse_number());
      item.max = min;
      if (min && take(",")) {
        TERRACE_TRY(item.max, parse_number());
      }
      if (!min || !take("}")) return error_at(begin, "this count is not of the form {2}, {2,} or {2,5}");
      item.min = *min;
      if (item.max && *item.max < item.min) return error_at(begin, "the maximum of this count is below its minimum");
    } else {
      return Done{};
    }
    if (item.kind == Item::Kind::text_start || item.kind == Item::Kind::text_end)
      return error_at(begin, "an anchor cannot be repeated");
    item.repeated = true;
    (void)take("?");  // how a match is searched changes nothing about which texts match
    return Done{};
  }

  Result<std::optional<uint32_t>> parse_number() {
    const size_t begin = at_;
    uint32_t number = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      number = number * 10 + static_cast<uint32_t>(peek() - '0');
      if (number > kMaxCount) return error_at(begin, "this count is above 100000");
    }
    return at_ == begin ? std::nullopt : std::optional(number);
  }

  Result<Set> parse_class() {
    const size_t begin = at_ - 1;
    const bool negated = take("^");
    Set set;
    while (!take("]")) {
      if (at_ >= pattern_.size()) return error_at(begin, "this '[' has no ']'");
      TERRACE_TRY(Set part, parse_character(true));
      if (peek() == '-' && peek(1) != ']' && at_ + 1 < pattern_.size()) {
        const size_t dash = at_++;
        TERRACE_TRY(const Set last, parse_character(true));
        if (!is_single(part) || !is_single(last) || last[0].first < part[0].first)
          return error_at(dash, "this is not a range of characters");
        part[0].last = last[0].first;
      }
      set.insert(set.end(), part.begin(), part.end());
    }
    set = normalized(std::move(set));
    return negated ? complement(set) : set;
  }

  static bool is_single(const Set& set) { return set.size() == 1 && set[0].first == set[0].last; }
  static Set single(uint32_t code) { return {{code, code}}; }

  Result<Set> parse_character(bool in_class) {
    if (peek() == '\\') return parse_escape(in_class);
    const Utf8Step step = utf8_step(pattern_.substr(at_));
    if (step.kind != Utf8Step::Kind::valid) return error_at(at_, "these bytes are not UTF-8");
    const uint32_t code = utf8_decode(pattern_.substr(at_, step.length));
    at_ += step.length;
    return single(code);
  }

  Result<Set> parse_escape(bool in_class) {
    const size_t begin = at_++;
    const char kind = peek();
    ++at_;
    switch (kind) {
      case 'd':
        return kDigits;
      case 'D':
        return complement(kDigits);
      case 'w':
        return kWord;
      case 'W':
        return complement(kWord);
      case 's':
        return kSpaces;
      case 'S':
        return complement(kSpaces);
      case 'n':
        return single('\n');
      case 'r':
        return single('\r');
      case 't':
        return single('\t');
      case 'f':
        return single('\f');
      case 'v':
        return single('\v');
      case 'x':
        return parse_hex(begin, 2);
      case 'u':
        return parse_unicode(begin);
      case 'b':
        if (in_class) return single('\b');
        return error_at(begin, "word boundaries cannot be expressed");
      case '0':
        if (peek() < '0' || peek() > '9') return single(0);
        break;
      case 'B':
        return error_at(begin, "word boundaries cannot be expressed");
      case 'p':
      case 'P':
        return error_at(begin, "classes of Unicode properties are not supported");
      default:
        if (kind >= '1' && kind <= '9') return error_at(begin, "back references cannot be expressed");
        if (kind != '\0' && kSyntax.find(kind) != std::string_view::npos) return single(static_cast<uint32_t>(kind));
    }
    return error_at(begin, "this escape is not known");
  }

  Result<Set> parse_unicode(size_t begin) {
    if (!take("{")) return parse_hex(begin, 4);
    size_t digits = 0;
    while (digits < 8 && peek(digits) != '}' && peek(digits) != '\0') ++digits;
    TERRACE_TRY(Set set, parse_hex(begin, digits));
    if (digits == 0 || !take("}")) return error_at(begin, "this escape is not of the form \\u{1F600}");
    return set;
  }

  Result<Set> parse_hex(size_t begin, size_t digits) {
    uint64_t code = 0;
    for (size_t i = 0; i < digits; ++i, ++at_) {
      const size_t value = std::string_view("0123456789abcdef").find(static_cast<char>(peek() | 0x20));
      const bool is_digit = peek() >= '0' && peek() <= '9';
      if (value == std::string_view::npos || (value < 10 && !is_digit))
        return error_at(begin, fmt::format("this escape needs {} hexadecimal digits", digits));
      code = code << 4 | value;
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code <= 0xDFFF)) return error_at(begin, "this is not a character");
    return single(static_cast<uint32_t>(code));
  }

  std::string_view pattern_;
  size_t at_ = 0;
};

class Writer {
 public:
  explicit Writer(GrammarBuilder& builder) : builder_(builder), json_(builder) {}

  // A match may begin and end anywhere, so what is not anchored is surrounded by any text.
  Result<Expr> search(const std::vector<Sequence>& alternatives) {
    std::vector<Expr> ways;
    for (const Sequence& whole : alternatives) {
      if (whole.size() == 1 && whole[0].kind == Item::Kind::group && !whole[0].repeated) {
        TERRACE_TRY(const Expr inner, search(whole[0].alternatives));
        ways.push_back(inner);
        continue;
      }
      size_t begin = 0, end = whole.size();
      while (begin < end && whole[begin].kind == Item::Kind::text_start) ++begin;
      while (end > begin && whole[end - 1].kind == Item::Kind::text_end) --end;
      std::vector<Expr> parts;
      if (begin == 0) parts.push_back(anything());
      TERRACE_TRY(const Expr inner, sequence(whole, begin, end));
      parts.push_back(inner);
      if (end == whole.size()) parts.push_back(anything());
      ways.push_back(builder_.sequence(std::move(parts)));
    }
    return builder_.choice(std::move(ways));
  }

 private:
  Expr anything() { return builder_.repeat(json_.any_character(), 0); }

  Result<Expr> sequence(const Sequence& items, size_t begin, size_t end) {
    std::vector<Expr> parts;
    for (size_t i = begin; i < end; ++i) {
      TERRACE_TRY(Expr part, one(items[i]));
      if (items[i].repeated) part = builder_.repeat(part, items[i].min, items[i].max);
      parts.push_back(part);
    }
    return builder_.sequence(std::move(parts));
  }

  Result<Expr> one(const Item& item) {
    if (item.kind == Item::Kind::set) return json_.character(item.set);
    if (item.kind != Item::Kind::group)
      return fail("at offset {} of the pattern: an anchor that is not at an end cannot be expressed", item.at);
    std::vector<Expr> ways;
    for (const Sequence& alternative : item.alternatives) {
      TERRACE_TRY(const Expr way, sequence(alternative, 0, alternative.size()));
      ways.push_back(way);
    }
    return builder_.choice(std::move(ways));
  }

  GrammarBuilder& builder_;
  JsonText json_;
};

}  // namespace

Result<Expr> compile_pattern(GrammarBuilder& builder, std::string_view pattern) {
  if (pattern.size() > kMaxPattern) return fail("the pattern is longer than {} bytes", kMaxPattern);
  TERRACE_TRY(const auto alternatives, Parser(pattern).parse());
  return Writer(builder).search(alternatives);
}

}  // namespace terrace::text
