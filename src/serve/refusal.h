// Why a request is not answered, in the forms that clients expect.
#pragma once

#include <optional>
#include <string>

#include "base/json.h"
#include "serve/http/message.h"

namespace terrace::serve {

struct Refusal {
  int status = 400;
  std::string message;
  std::string param = {};  ///< the field, such as messages[2].content
  std::string code = {};   ///< machine-readable, such as context_length_exceeded
};

/// Whose error bodies a path speaks.
enum class Dialect { openai, anthropic };

/// {"error": {"message", "type", "param", "code"}} (OpenAI's API reference, errors), or
/// {"type": "error", "error": {"type", "message"}} (Anthropic's API reference, errors).
Json error_body(const Refusal& refusal, Dialect dialect);
HttpResponse error_response(const Refusal& refusal, Dialect dialect);

}  // namespace terrace::serve
