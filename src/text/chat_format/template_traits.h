// What a chat template can do, found out by rendering small chats with it.
#pragma once

#include "text/chat_template.h"

namespace terrace::text {

struct TemplateTraits {
  bool tools = false;            ///< writes the tools of the request
  bool calls = false;            ///< writes the tool_calls of past answers
  bool several_calls = false;    ///< also more than one in an answer
  bool text_arguments = false;   ///< also if their arguments are a text
  bool full_answers = false;     ///< also with content and reasoning beside them
  bool any_ids = false;          ///< also if their ids are not nine letters and digits
  bool results = false;          ///< writes messages of the role tool
  bool developer = false;        ///< knows the role developer
  bool system = false;           ///< writes a system message in front
  bool several_systems = false;  ///< writes two of them
};

/// `variables`: bos_token and the like, as for rendering. `source` is the template's text.
TemplateTraits probe_template(const ChatTemplate& chat_template, std::string_view source,
                              const nlohmann::ordered_json& variables = nlohmann::ordered_json::object());

}  // namespace terrace::text
