// Requests and responses, apart from how they travel.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace terrace::serve {

struct HttpRequest {
  std::string method;
  std::string path;                            ///< percent-decoded, without the query
  std::string query;                           ///< as it came, without the question mark
  std::map<std::string, std::string> headers;  ///< names in lower case
  std::string body;
  std::string peer;  ///< the client's address

  std::string_view header(const std::string& name) const {
    const auto found = headers.find(name);
    return found == headers.end() ? std::string_view() : std::string_view(found->second);
  }
};

using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpResponse {
  int status = 200;
  std::string type = "application/json; charset=utf-8";
  std::string body;
  Headers headers = {};
};

/// Takes the response to one request. Thread-safe; what comes after the end, or after the client has gone, is dropped.
class Responder {
 public:
  virtual ~Responder() = default;
  /// The whole response at once.
  virtual void send(HttpResponse response) = 0;
  /// Or its head, then pieces of the body, then the end.
  virtual void begin(HttpResponse head) = 0;
  virtual void write(std::string piece) = 0;
  virtual void end() = 0;
  /// `gone` is called at most once, from any thread, if the client goes before the end; at once if it has gone.
  virtual void on_close(std::function<void()> gone) = 0;
};
using ResponderPtr = std::shared_ptr<Responder>;
using RequestPtr = std::shared_ptr<const HttpRequest>;

/// Answers a request, now or later. Called from any thread.
using Handler = std::function<void(const RequestPtr&, const ResponderPtr&)>;

}  // namespace terrace::serve
