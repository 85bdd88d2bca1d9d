// Decimal numbers as digits, and the texts of those between two bounds.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "text/grammar/grammar.h"

namespace terrace::text {

/// Without zeros that change nothing; zero is not negative.
struct Decimal {
  bool negative = false;
  std::string integer = "0";
  std::string fraction;

  /// From a JSON number. Fails for more than 40 digits.
  static Result<Decimal> parse(std::string_view text);
  bool is_integer() const { return fraction.empty(); }
};

struct NumberBounds {
  std::optional<Decimal> min, max;
  bool min_excluded = false, max_excluded = false;

  bool bounded() const { return min || max; }
};

/// The integers within the bounds, of 20 digits at most; nothing if there are none.
std::optional<Expr> integers_within(GrammarBuilder& builder, const NumberBounds& bounds);

/// The numbers within the bounds, written without an exponent, with 20 digits after the point that are not forced at
/// most; nothing if there are none.
std::optional<Expr> numbers_within(GrammarBuilder& builder, const NumberBounds& bounds);

}  // namespace terrace::text
