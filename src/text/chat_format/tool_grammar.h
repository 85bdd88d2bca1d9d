// The grammar of an answer that calls the tools of a request: what OutputParser understands, from the same description.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/chat_format/chat_format.h"
#include "text/grammar/grammar.h"

namespace terrace::text {

struct ToolChoice {
  bool required = false;  ///< the answer is calls, behind reasoning if any; else calls are constrained once they begin
  std::string name;       ///< only this function; empty: any
  bool parallel = true;   ///< several calls may follow each other
};

/// `tools` as prepare_chat() returns them; `prompt`: the rendered prompt or its end, which may have begun the
/// reasoning. The grammar is of the whole answer. Without `required`, text is free until a call's mark stands in it (a
/// control token anywhere, others at the start of a line unless they are one token), and ends with the calls. Arguments
/// follow the JSON Schemas of the parameters; texts that the format writes without quotes (Qwen's tags, Gemma) follow
/// enum and const only, and Gemma's lists and objects are of any shape. An error names the tool.
Result<Expr> tool_expression(GrammarBuilder& builder, const ChatFormat& format, const nlohmann::ordered_json& tools,
                             const ToolChoice& choice, std::string_view prompt = "");
Result<Grammar> tool_grammar(const ChatFormat& format, const nlohmann::ordered_json& tools, const ToolChoice& choice,
                             std::string_view prompt = "");

/// Lets functions that are not "strict" take any JSON object where a grammar cannot express their parameters, which
/// nobody promised then. Returns a sentence with the reason for each.
std::vector<std::string> relax_tools(const ChatFormat& format, nlohmann::ordered_json& tools);

/// An answer that has this content and no calls. The model may reason before it, or must end the reasoning that the
/// prompt has begun.
Expr content_expression(GrammarBuilder& builder, const ChatFormat& format, Expr content, std::string_view prompt = "");

}  // namespace terrace::text
