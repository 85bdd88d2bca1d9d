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

/// Functions whose arguments are any JSON object, because their schemas cannot be expressed: sentences with the reason.
using RelaxedTools = std::vector<std::string>;

/// `tools` as prepare_chat() returns them; `prompt`: the rendered prompt or its end, which may have begun the
/// reasoning. The grammar is of the whole answer. Without `required`, text is free until a call's mark stands in it (a
/// control token anywhere, others at the start of a line unless they are one token), and ends with the calls. Arguments
/// follow the JSON Schemas of the parameters. One that cannot be expressed is an error for a function with "strict",
/// and a promise that nobody made for others, which go to `relaxed`. Texts that the format writes without quotes
/// (Qwen's tags, Gemma) follow enum and const only, and Gemma's lists and objects are of any shape. An error names the
/// tool.
Result<Expr> tool_expression(GrammarBuilder& builder, const ChatFormat& format, const nlohmann::ordered_json& tools,
                             const ToolChoice& choice, std::string_view prompt = "", RelaxedTools* relaxed = nullptr);
Result<Grammar> tool_grammar(const ChatFormat& format, const nlohmann::ordered_json& tools, const ToolChoice& choice,
                             std::string_view prompt = "");

/// An answer that has this content and no calls. The model may reason before it, or must end the reasoning that the
/// prompt has begun.
Expr content_expression(GrammarBuilder& builder, const ChatFormat& format, Expr content, std::string_view prompt = "");

}  // namespace terrace::text
