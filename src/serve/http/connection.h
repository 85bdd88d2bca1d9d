// One connection: requests one after another, each answered before the next is read.
#pragma once

#include <atomic>
#include <mutex>

#include "serve/http/asio.h"
#include "serve/http/server.h"

namespace terrace::serve {

/// What a handler writes, on its way to the connection's coroutine. Handlers write from any thread; the coroutine
/// takes.
class Outbox : public Responder {
 public:
  /// `wake` is called from any thread when there is something to take, and never after close().
  Outbox(std::function<void()> wake, size_t limit) : wake_(std::move(wake)), limit_(limit) {}

  void send(HttpResponse response) override;
  void begin(HttpResponse head) override;
  void write(std::string piece) override;
  void end() override;
  void on_close(std::function<void()> gone) override;

  /// What has come since the last take.
  struct Taken {
    std::optional<HttpResponse> head;
    bool whole = false;  ///< the head's body is all there is
    std::string body;
    bool ended = false;
    bool overfull = false;  ///< the client reads too slowly
  };
  Taken take();
  /// The client has gone, or the response is over.
  void close(bool gone);

 private:
  std::mutex mutex_;
  std::function<void()> wake_, gone_;
  size_t limit_;
  Taken next_;
  bool begun_ = false, ended_ = false, closed_ = false, was_gone_ = false;
};

/// What all connections of a server share.
struct Serving {
  HttpOptions options;
  Handler handler;
  std::atomic<size_t> answering = 0;  ///< connections whose response is not all sent
  bool stopping = false;              ///< connections end after their response; for the connections' thread
};

/// Serves a connection until it ends. `Stream` is beast::tcp_stream, or a TLS stream over it after its handshake.
template <class Stream>
asio::awaitable<void> serve_connection(Stream& stream, Serving& serving, const std::string& peer);

extern template asio::awaitable<void> serve_connection(beast::tcp_stream&, Serving&, const std::string&);
extern template asio::awaitable<void> serve_connection(beast::ssl_stream<beast::tcp_stream>&, Serving&,
                                                       const std::string&);

}  // namespace terrace::serve
