// A plain HTTP client for the program's own use: one POST, whose response is read line by line.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace terrace::serve {

/// http://HOST[:PORT][/PATH], without TLS.
struct HttpUrl {
  std::string host, port = "80", path;
  static Result<HttpUrl> parse(std::string_view url);
};

/// Sends `body` as JSON to url.path + `path`. Each line of a response with status 200 goes to `line`, which ends the
/// connection by returning false. Any other response is an error with its text. `key`, if any, is sent as a bearer
/// token.
Status post_for_lines(const HttpUrl& url, const std::string& path, const std::string& key, const std::string& body,
                      const std::function<bool(std::string_view line)>& line);

}  // namespace terrace::serve
