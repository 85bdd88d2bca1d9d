// What an answer must look like: grammars and schemas of requests, as filters of tokens.
#pragma once

#include "serve/chat_request.h"

namespace terrace::serve {

/// The fields grammar and json_schema of a request for plain text. An error when they cannot be followed, before
/// anything is computed.
std::optional<Refusal> constrain(const Service& service, const GenerationFields& fields, Submission& submission);

/// The same for a chat: grammar, response_format and tool_choice. The model may reason before what they describe.
std::optional<Refusal> constrain_chat(const Service& service, const ChatRequest& request, const RenderedChat& chat,
                                      Submission& submission);

}  // namespace terrace::serve
