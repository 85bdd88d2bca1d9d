// JSON Schema -> grammar. See docs/grammar.md for what is understood.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "base/result.h"
#include "text/grammar/grammar.h"

namespace terrace::text {

/// The JSON texts that are valid against the schema. What cannot be expressed is an error that names its place:
/// `properties.a.pattern`.
Result<Expr> compile_json_schema(GrammarBuilder& builder, const nlohmann::ordered_json& schema);

/// The same as a whole grammar.
Result<Grammar> json_schema_grammar(const nlohmann::ordered_json& schema);

}  // namespace terrace::text
