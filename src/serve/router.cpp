#include "serve/router.h"

#include <fmt/format.h>

namespace terrace::serve {
namespace {

/// Counts the status, and says to browsers who may read the response.
class ObservedResponder : public Responder {
 public:
  ObservedResponder(ResponderPtr to, std::function<void(HttpResponse&)> observe)
      : to_(std::move(to)), observe_(std::move(observe)) {}
  void send(HttpResponse response) override {
    observe_(response);
    to_->send(std::move(response));
  }
  void begin(HttpResponse head) override {
    observe_(head);
    to_->begin(std::move(head));
  }
  void write(std::string piece) override { to_->write(std::move(piece)); }
  void end() override { to_->end(); }
  void on_close(std::function<void()> gone) override { to_->on_close(std::move(gone)); }

 private:
  ResponderPtr to_;
  std::function<void(HttpResponse&)> observe_;
};

Dialect dialect_of(const std::string& path) {
  return path.starts_with("/v1/messages") ? Dialect::anthropic : Dialect::openai;
}

}  // namespace

std::string Call::client() const { return std::string(Access::key_of(*request)) + " " + request->peer; }

bool Router::Route::matches(const std::string& asked) const {
  if (!path.ends_with('*')) return path == asked;
  return asked.size() >= path.size() && asked.starts_with(std::string_view(path).substr(0, path.size() - 1));
}

void Router::add(std::string method, std::string path, Endpoint endpoint, bool open) {
  routes_.push_back({std::move(method), std::move(path), std::move(endpoint), open});
}

void read_body(const Call& call, Dialect dialect, const JsonEndpoint& endpoint) {
  const auto body = parse_json(call.request->body);
  if (!body) return call.refuse({400, "the body is " + body.error().message}, dialect);
  if (!body->is_object()) return call.refuse({400, "the body must be a JSON object"}, dialect);
  endpoint(call, *body);
}

void answer_faults(const Call& call, Dialect dialect, const std::function<void()>& work) {
  try {
    work();
  } catch (const std::exception& error) {
    fmt::print(stderr, "terrace: a fault in {} {}: {}\n", call.request->method, call.request->path, error.what());
    call.refuse({500, "the server has a fault here; its log says more"}, dialect);
  }
}

void Router::handle(const RequestPtr& request, const ResponderPtr& responder) const {
  answer_faults({request, responder, ""}, dialect_of(request->path), [&] { dispatch(request, responder); });
}

void Router::dispatch(const RequestPtr& request, const ResponderPtr& plain) const {
  const Dialect dialect = dialect_of(request->path);
  const std::string nobody = "other";  // one name for all paths that nobody serves: they would fill the metrics
  const auto observed = [&](const std::string& name) {
    return std::make_shared<ObservedResponder>(plain, [this, request, name](HttpResponse& response) {
      access_.add_cors(*request, response);
      metrics_.count_response(name, response.status);
    });
  };
  if (const auto refusal = access_.check_origin(*request))
    return observed(nobody)->send(error_response(*refusal, dialect));
  if (request->method == "OPTIONS") return observed(nobody)->send(access_.preflight());
  bool known = false;
  for (const Route& route : routes_) {
    if (!route.matches(request->path)) continue;
    known = true;
    if (route.method != request->method && !(route.method == "GET" && request->method == "HEAD")) continue;
    const auto to = observed(route.path);
    if (!route.open) {
      if (const auto refusal = access_.check_key(*request)) return to->send(error_response(*refusal, dialect));
    }
    const size_t fixed = route.path.size() - (route.path.ends_with('*') ? 1 : 0);
    return route.endpoint({request, to, request->path.substr(fixed)});
  }
  const Refusal refusal = known ? Refusal{405, fmt::format("{} does not take {}", request->path, request->method)}
                                : Refusal{404, fmt::format("there is nothing at {}", request->path)};
  observed(nobody)->send(error_response(refusal, dialect));
}

}  // namespace terrace::serve
