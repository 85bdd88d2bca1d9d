// The messages and tools of a request, in OpenAI's form, as chat templates take them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/chat_format/chat_format.h"
#include "text/chat_format/template_traits.h"

namespace terrace::text {

struct PreparedChat {
  nlohmann::ordered_json messages;         ///< for ChatInput::messages
  nlohmann::ordered_json tools = nullptr;  ///< of the request, in one shape; for OutputOptions and tool_grammar()
  bool pass_tools = false;                 ///< ChatInput::tools is to be `tools`; else the messages describe them
  std::vector<std::string> notes;          ///< what was left out of the request, as sentences
};

/// Brings a request into the form that the template renders:
/// - content parts are joined (texts only; anything else is an error), null and missing content are "";
/// - developer becomes system where the template does not know it, several system messages in front are one where it
///   does not write them, and a system message is part of the first user message where it has none;
/// - arguments that hold an object are that object; others stay the text that they are, inside an object if the
///   template needs one;
/// - what the template does not write itself - tools, calls, results - is written into the messages;
/// - tools that are not functions are left out with a note; missing descriptions and parameters are filled in.
/// `tools` may be null. Errors begin with the place: "messages[2].content[0]: ...".
/// Messages and tools may be nested 256 deep.
Result<PreparedChat> prepare_chat(const nlohmann::ordered_json& messages, const nlohmann::ordered_json& tools,
                                  const ChatFormat& format, const TemplateTraits& traits);

}  // namespace terrace::text
