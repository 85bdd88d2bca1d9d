// From a request to its endpoint: who may ask, from where, and for what.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "serve/access.h"
#include "serve/metrics.h"
#include "serve/refusal.h"

namespace terrace::serve {

/// A request on its way to an endpoint.
struct Call {
  RequestPtr request;
  ResponderPtr responder;
  std::string tail;  ///< what stands in the path where the route ends with *

  /// Who asks, for fairness: the key's owner, or the address.
  std::string client() const;
  void send(const Json& body, int status = 200) const {
    responder->send({.status = status, .body = json_line(body) + "\n"});
  }
  void refuse(const Refusal& refusal, Dialect dialect = Dialect::openai) const {
    responder->send(error_response(refusal, dialect));
  }
};
using Endpoint = std::function<void(const Call&)>;
using JsonEndpoint = std::function<void(const Call&, const Json&)>;

/// Calls `endpoint` with the body, which must be a JSON object.
void read_body(const Call& call, Dialect dialect, const JsonEndpoint& endpoint);

/// Runs `work`; a fault of the program in it ends the request with status 500, and is logged.
void answer_faults(const Call& call, Dialect dialect, const std::function<void()>& work);

class Router {
 public:
  Router(Access access, Metrics& metrics) : access_(std::move(access)), metrics_(metrics) {}

  /// `path` may end with * for any further part. Open endpoints need no key.
  void add(std::string method, std::string path, Endpoint endpoint, bool open = false);
  /// Answers, or refuses: thread-safe once all endpoints are added.
  void handle(const RequestPtr& request, const ResponderPtr& responder) const;
  Access& access() { return access_; }
  const Access& access() const { return access_; }

 private:
  struct Route {
    std::string method, path;
    Endpoint endpoint;
    bool open = false;
    bool matches(const std::string& asked) const;
  };

  void dispatch(const RequestPtr& request, const ResponderPtr& responder) const;

  Access access_;
  Metrics& metrics_;
  std::vector<Route> routes_;
};

}  // namespace terrace::serve
