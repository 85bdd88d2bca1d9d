// What a chat template can do, found out by rendering small chats with it.
#pragma once

#include "text/chat_format/chat_format.h"
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

/// How a model with this template is talked to.
struct ChatStyle {
  ChatFormat format;
  TemplateTraits traits;
};

/// Format and traits together. Where the format does not understand the calls that the template itself writes, the
/// template has a form that is not known, and gets the generic one. Arguments as for probe_template().
ChatStyle chat_style(const ChatTemplate& chat_template, std::string_view source, const Tokenizer* tokenizer = nullptr,
                     const nlohmann::ordered_json& variables = nlohmann::ordered_json::object());

/// `variables`: bos_token and the like, as for rendering. `source` is the template's text.
TemplateTraits probe_template(const ChatTemplate& chat_template, std::string_view source,
                              const nlohmann::ordered_json& variables = nlohmann::ordered_json::object());

}  // namespace terrace::text
