// The HTTP/1.1 server: connections with limits on their sizes, times and number, over TLS or not.
#pragma once

#include <memory>
#include <string>

#include "base/result.h"
#include "serve/http/message.h"

namespace terrace::serve {

struct HttpOptions {
  std::string host = "127.0.0.1";
  uint16_t port = 8080;                  ///< 0: a free one
  std::string tls_certificate, tls_key;  ///< PEM files; empty: no TLS
  size_t connection_limit = 512;         ///< those above it wait to be accepted
  size_t header_limit = 64 << 10;
  size_t body_limit = size_t{64} << 20;
  size_t unsent_limit = size_t{16} << 20;  ///< of a response whose client does not read it; the connection then ends
  int idle_seconds = 75;                   ///< until the first byte of a request
  int header_seconds = 20;                 ///< from there to the end of the headers
  int body_seconds = 120;                  ///< to the end of the body
  int write_seconds = 60;                  ///< for a piece of the response
};

class HttpServer {
 public:
  /// Binds the address and serves. An error when it cannot be bound or a file of TLS cannot be used.
  static Result<std::unique_ptr<HttpServer>> start(const HttpOptions& options, Handler handler);
  /// Ends all connections.
  ~HttpServer();

  uint16_t port() const;
  size_t connections() const;
  /// No new connections from now on; those that are open end after their response.
  void stop_accepting();
  /// Returns when all responses that were begun are sent, or after `seconds`.
  void settle(double seconds);

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace terrace::serve
