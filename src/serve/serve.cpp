#include "serve/serve.h"

#include <fmt/format.h>

#include "serve/app.h"
#include "serve/endpoints.h"
#include "serve/router.h"

namespace terrace::serve {

struct Server::Impl {
  ServeOptions options;
  std::unique_ptr<ChatStore> chats;
  std::unique_ptr<Service> service;
  std::optional<Router> router;
  std::unique_ptr<HttpServer> http;  // last: its threads use the others
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<Server>> Server::start(ServeOptions options) {
  auto impl = std::make_unique<Impl>();
  options.access.host = options.http.host;
  impl->options = std::move(options);
  // What is quick to refuse comes before the model is loaded.
  TERRACE_TRY(Access access, Access::create(impl->options.access));
  if (!impl->options.chats.empty()) {
    TERRACE_TRY(impl->chats, ChatStore::open(impl->options.chats));
  }
  TERRACE_TRY(impl->service, Service::create(impl->options.service));
  Router& router = impl->router.emplace(std::move(access), impl->service->metrics());
  add_completions(router, *impl->service);
  add_chat_completions(router, *impl->service);
  add_responses(router, *impl->service);
  add_embeddings(router, *impl->service);
  add_messages(router, *impl->service);
  add_texts(router, *impl->service);
  add_slots(router, *impl->service);
  add_monitor(router, *impl->service);
  add_app(router, impl->chats.get());
  const auto handle = [&router](const RequestPtr& request, const ResponderPtr& responder) {
    router.handle(request, responder);
  };
  TERRACE_TRY(impl->http, HttpServer::start(impl->options.http, handle));
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

Server::~Server() { stop(); }

uint16_t Server::port() const { return impl_->http->port(); }

std::string Server::address() const {
  const HttpOptions& http = impl_->options.http;
  const bool v6 = http.host.find(':') != std::string::npos;
  return fmt::format("{}://{}:{}", http.tls_certificate.empty() ? "http" : "https",
                     v6 ? "[" + http.host + "]" : http.host, port());
}

Service& Server::service() { return *impl_->service; }
Status Server::reload_keys() { return impl_->router->access().reload_keys(); }

void Server::stop() {
  impl_->http->stop_accepting();
  impl_->service->drain(impl_->options.drain_seconds);
  impl_->http->settle(/*seconds=*/2);  // the answers have ended, but their last bytes may still be on their way
}

}  // namespace terrace::serve
