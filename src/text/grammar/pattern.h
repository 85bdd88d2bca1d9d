// Regular expressions of JSON Schema (`pattern`) as grammars of JSON strings.
#pragma once

#include <optional>
#include <string_view>

#include "base/result.h"
#include "text/grammar/grammar.h"

namespace terrace::text {

/// The inside of JSON strings in which ECMA-262's expression, with its `u` flag, finds a match. Understood: characters,
/// classes, groups, alternatives, counts, ^ and $ at the ends, \d \w \s and their opposites. The rest is an error that
/// names the offset.
Result<Expr> compile_pattern(GrammarBuilder& builder, std::string_view pattern);

/// The expression for a `format` of strings, or nothing for a name that is not known.
std::optional<std::string_view> format_pattern(std::string_view format);

}  // namespace terrace::text
