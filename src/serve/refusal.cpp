#include "serve/refusal.h"

namespace terrace::serve {
namespace {

const char* openai_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

const char* anthropic_type(int status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
    case 529:
      return "overloaded_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

Json text_or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

}  // namespace

Json error_body(const Refusal& refusal, Dialect dialect) {
  if (dialect == Dialect::anthropic) {
    const std::string where = refusal.param.empty() ? "" : refusal.param + ": ";
    return {{"type", "error"},
            {"error", {{"type", anthropic_type(refusal.status)}, {"message", where + refusal.message}}}};
  }
  return {{"error",
           {{"message", refusal.param.empty() ? refusal.message : refusal.param + ": " + refusal.message},
            {"type", openai_type(refusal.status)},
            {"param", text_or_null(refusal.param)},
            {"code", text_or_null(refusal.code)}}}};
}

HttpResponse error_response(const Refusal& refusal, Dialect dialect) {
  HttpResponse response{refusal.status};
  response.body = json_line(error_body(refusal, dialect)) + "\n";
  if (refusal.status == 503) response.headers.emplace_back("Retry-After", "1");
  if (refusal.status == 401) response.headers.emplace_back("WWW-Authenticate", "Bearer");
  return response;
}

}  // namespace terrace::serve
