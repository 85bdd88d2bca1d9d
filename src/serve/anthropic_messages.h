// Requests of Anthropic's Messages API, brought into the common form.
#pragma once

#include "serve/chat_request.h"

namespace terrace::serve {

/// Reads a body of /v1/messages or, with `counting`, of /v1/messages/count_tokens.
/// (https://docs.anthropic.com/en/api/messages)
std::optional<Refusal> read_messages_request(const Json& body, const Service& service, bool counting,
                                             ChatRequest& into);

}  // namespace terrace::serve
