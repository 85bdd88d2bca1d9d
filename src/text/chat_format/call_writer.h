// Tools and calls as text, for templates that do not write them: the other direction of OutputParser.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "text/chat_format/chat_format.h"

namespace terrace::text {

/// Calls as the model writes them. `calls` is a list of {"name": text, "arguments": object or any text}; text that is
/// no object is written as it is. In harmony the text ends the message that it stands in.
std::string write_calls(const ToolFormat& format, const nlohmann::ordered_json& calls);

/// What a system message says about tools to a model whose template does not: the functions, and how to call them.
/// `tools` as prepare_chat() returns them.
std::string describe_tools(const ChatFormat& format, const nlohmann::ordered_json& tools);

}  // namespace terrace::text
