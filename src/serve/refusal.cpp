#include "serve/refusal.h"

namespace terrace::serve {
namespace {

const char* type_of(int status, Dialect dialect) {
  const bool anthropic = dialect == Dialect::anthropic;
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return anthropic ? "request_too_large" : "invalid_request_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status < 500 ? "invalid_request_error" : anthropic ? "api_error" : "server_error";
  }
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

Json error_body(const Refusal& refusal, Dialect dialect) {
  const std::string message = refusal.param.empty() ? refusal.message : refusal.param + ": " + refusal.message;
  Json error = {{"type", type_of(refusal.status, dialect)}, {"message", message}};
  if (dialect == Dialect::anthropic) return {{"type", "error"}, {"error", std::move(error)}};
  error["param"] = text_or_null(refusal.param);
  error["code"] = text_or_null(refusal.code);
  return {{"error", std::move(error)}};
}

HttpResponse error_response(const Refusal& refusal, Dialect dialect) {
  HttpResponse response{refusal.status};
  response.body = json_line(error_body(refusal, dialect)) + "\n";
  if (refusal.status == 503) response.headers.emplace_back("Retry-After", "1");
  if (refusal.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace terrace::serve
