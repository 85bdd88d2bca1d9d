// One call as a grammar, for each syntax.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"
#include "text/chat_format/chat_format.h"
#include "text/grammar/grammar.h"

namespace terrace::text {

/// A call of `function`: {"name", "parameters"}, without the marks around it. In harmony only its arguments.
Result<Expr> call_expression(GrammarBuilder& builder, const ToolFormat& format, const nlohmann::ordered_json& function);

/// What a json call of the function begins with, up to its arguments, as models write it.
std::string bare_call_begin(const ToolFormat& format, const std::string& name);

}  // namespace terrace::text
