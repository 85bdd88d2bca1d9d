#include "text/grammar/decimal.h"

#include <algorithm>
#include <charconv>
#include <vector>

namespace terrace::text {
namespace {

constexpr size_t kMaxParsedDigits = 40;
constexpr size_t kMaxDigits = 20;

void strip(Decimal& value) {
  value.integer.erase(0, std::min(value.integer.find_first_not_of('0'), value.integer.size()));
  if (value.integer.empty()) value.integer = "0";
  value.fraction.erase(value.fraction.find_last_not_of('0') + 1);
  if (value.integer == "0" && value.fraction.empty()) value.negative = false;
}

int compare_integers(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? (a.size() < b.size() ? -1 : 1) : a.compare(b);
}

std::string plus_one(std::string digits) {
  size_t i = digits.size();
  while (i > 0 && digits[i - 1] == '9') digits[--i] = '0';
  if (i == 0) return "1" + digits;
  ++digits[i - 1];
  return digits;
}

// Of a number above zero.
std::string minus_one(std::string digits) {
  size_t i = digits.size();
  while (digits[i - 1] == '0') digits[--i] = '9';
  --digits[i - 1];
  return digits.size() > 1 && digits[0] == '0' ? digits.substr(1) : digits;
}

// Numbers that are not negative, both ends included or not.
struct Span {
  Decimal min;
  bool min_excluded = false;
  std::optional<Decimal> max;
  bool max_excluded = false;
};

// What may follow inside a fraction: nothing more, if `end`, or these digits.
struct Digits {
  bool end = false;
  std::optional<Expr> some;
};

class DecimalTexts {
 public:
  explicit DecimalTexts(GrammarBuilder& builder) : builder_(builder) {}

  /// Digits without leading zeros from `min` to `max`, both included.
  std::optional<Expr> integers(const std::string& min, const std::optional<std::string>& max) {
    const std::string top = max.value_or(std::string(std::max(kMaxDigits, min.size()), '9'));
    if (compare_integers(min, top) > 0) return std::nullopt;
    std::vector<Expr> ways;
    for (size_t length = min.size(); length <= top.size(); ++length) {
      const std::string first = length == min.size() ? min : "1" + std::string(length - 1, '0');
      const std::string last = length == top.size() ? top : std::string(length, '9');
      ways.push_back(same_length(first, last));
    }
    return builder_.choice(std::move(ways));
  }

  std::optional<Expr> numbers(const Span& span) {
    std::vector<Expr> ways;
    const auto add = [&](std::optional<Expr> integer, const Digits& digits) {
      if (!integer || (!digits.end && !digits.some)) return;
      std::vector<Expr> fraction;
      if (digits.end) fraction.push_back(builder_.empty());
      if (digits.some) fraction.push_back(builder_.sequence({builder_.plain("."), *digits.some}));
      ways.push_back(builder_.sequence({*integer, builder_.choice(std::move(fraction))}));
    };
    const Expr first = builder_.plain(span.min.integer);
    if (span.max && span.max->integer == span.min.integer) {
      add(first, between(span.min.fraction, span.min_excluded, span.max->fraction, span.max_excluded));
    } else if (!span.max || compare_integers(span.min.integer, span.max->integer) < 0) {
      add(first, from(span.min.fraction, span.min_excluded));
      std::optional<std::string> last;
      if (span.max) last = minus_one(span.max->integer);
      add(integers(plus_one(span.min.integer), last), any());
      if (span.max) add(builder_.plain(span.max->integer), to(span.max->fraction, span.max_excluded));
    }
    if (ways.empty()) return std::nullopt;
    return builder_.choice(std::move(ways));
  }

 private:
  Expr digit(char first = '0', char last = '9') {
    return builder_.characters({{static_cast<uint32_t>(first), static_cast<uint32_t>(last)}});
  }
  Expr all_digits(size_t count) {
    return builder_.repeat(digit(), static_cast<uint32_t>(count), static_cast<uint32_t>(count));
  }

  Expr same_length(const std::string& first, const std::string& last) {
    if (first.empty()) return builder_.empty();
    const std::string first_rest = first.substr(1), last_rest = last.substr(1);
    if (first[0] == last[0])
      return builder_.sequence({builder_.plain(first.substr(0, 1)), same_length(first_rest, last_rest)});
    const size_t rest = first.size() - 1;
    std::vector<Expr> ways;
    char low = first[0], high = last[0];
    if (first_rest != std::string(rest, '0')) {
      ways.push_back(builder_.sequence({digit(low, low), same_length(first_rest, std::string(rest, '9'))}));
      ++low;
    }
    if (last_rest != std::string(rest, '9')) {
      ways.push_back(builder_.sequence({digit(high, high), same_length(std::string(rest, '0'), last_rest)}));
      --high;
    }
    if (low <= high) ways.push_back(builder_.sequence({digit(low, high), all_digits(rest)}));
    return builder_.choice(std::move(ways));
  }

  std::optional<Expr> then(Expr first, const Digits& rest) {
    if (!rest.some) return rest.end ? std::optional(first) : std::nullopt;
    return builder_.sequence({first, rest.end ? builder_.optional(*rest.some) : *rest.some});
  }

  Digits any() { return {true, builder_.repeat(digit(), 1, kMaxDigits)}; }

  static std::string stripped(std::string digits) {
    digits.erase(digits.find_last_not_of('0') + 1);
    return digits;
  }
  static std::string rest_of(const std::string& digits) { return digits.empty() ? digits : digits.substr(1); }
  static char first_of(const std::string& digits) { return digits.empty() ? '0' : digits[0]; }

  Digits choice(bool end, const std::vector<std::optional<Expr>>& ways) {
    std::vector<Expr> some;
    for (const auto& way : ways)
      if (way) some.push_back(*way);
    if (some.empty()) return {end, std::nullopt};
    return {end, builder_.choice(std::move(some))};
  }

  // At least 0.digits.
  Digits from(const std::string& digits, bool excluded) {
    if (digits.empty() && !excluded) return any();
    if (digits.empty())
      return {false, builder_.sequence({builder_.repeat(digit('0', '0'), 0, kMaxDigits - 1), digit('1', '9'),
                                        builder_.repeat(digit(), 0, kMaxDigits)})};
    std::optional<Expr> above;
    if (digits[0] < '9') above = then(digit(static_cast<char>(digits[0] + 1), '9'), any());
    return choice(false, {above, then(digit(digits[0], digits[0]), from(stripped(digits.substr(1)), excluded))});
  }

  // At most 0.digits.
  Digits to(const std::string& digits, bool excluded) {
    if (digits.empty() && excluded) return {};
    if (digits.empty()) return {true, builder_.repeat(digit('0', '0'), 1, kMaxDigits)};
    std::optional<Expr> below;
    if (digits[0] > '0') below = then(digit('0', static_cast<char>(digits[0] - 1)), any());
    return choice(true, {below, then(digit(digits[0], digits[0]), to(digits.substr(1), excluded))});
  }

  Digits between(const std::string& min, bool min_excluded, const std::string& max, bool max_excluded) {
    if (min.empty() && max.empty()) return min_excluded || max_excluded ? Digits{} : to("", false);
    const char low = first_of(min), high = first_of(max);
    const bool end = min.empty() && !min_excluded;
    if (low > high) return {};
    const std::string min_rest = stripped(rest_of(min)), max_rest = rest_of(max);
    if (low == high) {
      const Digits rest = between(min_rest, min_excluded, max_rest, max_excluded);
      return choice(end, {then(digit(low, low), rest)});
    }
    std::optional<Expr> middle;
    if (low + 1 < high) middle = then(digit(static_cast<char>(low + 1), static_cast<char>(high - 1)), any());
    return choice(end, {then(digit(low, low), from(min_rest, min_excluded)), middle,
                        then(digit(high, high), to(max_rest, max_excluded))});
  }

  GrammarBuilder& builder_;
};

Decimal magnitude(Decimal value) {
  value.negative = false;
  return value;
}

// The part of the bounds that is not negative, and the part below zero as magnitudes.
std::optional<Span> from_zero_up(const NumberBounds& bounds) {
  if (bounds.max && bounds.max->negative) return std::nullopt;
  Span span{.max = bounds.max, .max_excluded = bounds.max_excluded};
  if (bounds.min && !bounds.min->negative) span.min = *bounds.min, span.min_excluded = bounds.min_excluded;
  return span;
}

std::optional<Span> below_zero(const NumberBounds& bounds) {
  if (bounds.min && !bounds.min->negative) return std::nullopt;
  Span span{.min_excluded = true};
  if (bounds.max && bounds.max->negative) span.min = magnitude(*bounds.max), span.min_excluded = bounds.max_excluded;
  if (bounds.min) span.max = magnitude(*bounds.min), span.max_excluded = bounds.min_excluded;
  return span;
}

std::optional<Expr> integers_in(DecimalTexts& texts, const Span& span) {
  std::string min = span.min.integer;
  if (!span.min.is_integer() || span.min_excluded) min = plus_one(min);
  std::optional<std::string> max;
  if (span.max) {
    max = span.max->integer;
    if (span.max->is_integer() && span.max_excluded) {
      if (*max == "0") return std::nullopt;
      max = minus_one(*max);
    }
  }
  return texts.integers(min, max);
}

template <class Within>
std::optional<Expr> with_sign(GrammarBuilder& builder, const NumberBounds& bounds, Within within) {
  std::vector<Expr> ways;
  if (const auto span = from_zero_up(bounds))
    if (const auto texts = within(*span)) ways.push_back(*texts);
  if (const auto span = below_zero(bounds))
    if (const auto texts = within(*span)) ways.push_back(builder.sequence({builder.plain("-"), *texts}));
  if (ways.empty()) return std::nullopt;
  return builder.choice(std::move(ways));
}

}  // namespace

Result<Decimal> Decimal::parse(std::string_view text) {
  Decimal value;
  std::string_view rest = text;
  value.negative = rest.starts_with('-');
  if (value.negative) rest.remove_prefix(1);
  int exponent = 0;
  if (const size_t e = rest.find_first_of("eE"); e != std::string_view::npos) {
    std::string_view digits = rest.substr(e + 1);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), exponent).ec != std::errc())
      return fail("'{}' is not a number", text);
    rest = rest.substr(0, e);
  }
  const size_t point = std::min(rest.find('.'), rest.size());
  value.integer = rest.substr(0, point);
  if (point < rest.size()) value.fraction = rest.substr(point + 1);
  if (std::abs(exponent) > static_cast<int>(kMaxParsedDigits) ||
      value.integer.size() + value.fraction.size() > kMaxParsedDigits)
    return fail("the number {} has too many digits", text);
  for (; exponent > 0; --exponent) {
    value.integer += value.fraction.empty() ? '0' : value.fraction[0];
    if (!value.fraction.empty()) value.fraction.erase(0, 1);
  }
  for (; exponent < 0; ++exponent) {
    value.fraction.insert(value.fraction.begin(), value.integer.empty() ? '0' : value.integer.back());
    if (!value.integer.empty()) value.integer.pop_back();
  }
  for (const char c : value.integer + value.fraction)
    if (c < '0' || c > '9') return fail("'{}' is not a number", text);
  strip(value);
  return value;
}

std::optional<Expr> integers_within(GrammarBuilder& builder, const NumberBounds& bounds) {
  DecimalTexts texts(builder);
  return with_sign(builder, bounds, [&](const Span& span) { return integers_in(texts, span); });
}

std::optional<Expr> numbers_within(GrammarBuilder& builder, const NumberBounds& bounds) {
  DecimalTexts texts(builder);
  return with_sign(builder, bounds, [&](const Span& span) { return texts.numbers(span); });
}

}  // namespace terrace::text
