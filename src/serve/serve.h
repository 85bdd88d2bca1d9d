// The server as a whole: a model behind HTTP, until it is told to stop.
#pragma once

#include "serve/access.h"
#include "serve/http/server.h"
#include "serve/service.h"

namespace terrace::serve {

struct ServeOptions {
  HttpOptions http;
  AccessOptions access;
  ServiceOptions service;
  std::string chats;          ///< the file in which the web app keeps its chats; empty: it keeps them in the browser
  double drain_seconds = 10;  ///< for running answers when the server is to stop
};

class Server {
 public:
  /// Loads the model and listens.
  static Result<std::unique_ptr<Server>> start(ServeOptions options);
  ~Server();

  uint16_t port() const;
  std::string address() const;  ///< http://127.0.0.1:8080
  Service& service();
  /// Reads the key file again.
  Status reload_keys();
  /// Takes no more connections and requests, and returns when the running answers are over or the time for them is.
  void stop();

 private:
  struct Impl;
  explicit Server(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace terrace::serve
