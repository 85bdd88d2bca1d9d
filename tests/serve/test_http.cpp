// The HTTP server against sockets that behave badly. Good clients are tests/clients.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <future>

#include "serve/http/server.h"
#include "support/files.h"

namespace terrace::serve {
namespace {

using ::testing::HasSubstr;
using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

class Socket {
 public:
  explicit Socket(uint16_t port) : descriptor_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    timeval limit{20, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::connect(descriptor_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect");
  }
  ~Socket() { close(); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void send(std::string_view text) { ::send(descriptor_, text.data(), text.size(), MSG_NOSIGNAL); }
  /// Up to the end of the connection.
  std::string read_all() {
    std::string all;
    char piece[4096];
    for (ssize_t count; (count = ::recv(descriptor_, piece, sizeof piece, 0)) > 0;)
      all.append(piece, static_cast<size_t>(count));
    return all;
  }
  void close() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }

 private:
  int descriptor_;
};

HttpOptions quick() {
  HttpOptions options;
  options.port = 0;
  options.idle_seconds = options.header_seconds = options.body_seconds = options.write_seconds = 1;
  options.header_limit = 4096;
  options.body_limit = 10000;
  return options;
}

std::unique_ptr<HttpServer> serve(const HttpOptions& options, Handler handler) {
  return take(HttpServer::start(options, std::move(handler)));
}

void echo(const RequestPtr& request, const ResponderPtr& responder) {
  responder->send({.type = "text/plain",
                   .body = request->method + " " + request->path + " " + request->query + " " + request->body});
}

TEST(Http, RequestsArriveWhole) {
  const auto server = serve(quick(), echo);
  Socket socket(server->port());
  socket.send("POST /a%20b?c=%64 HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 3\r\n\r\nxyz");
  EXPECT_THAT(socket.read_all(), HasSubstr("POST /a b c=%64 xyz"));
}

TEST(Http, StalledClientsAreLetGo) {
  const auto server = serve(quick(), echo);
  for (const char* beginning :
       {"", "GET / HT", "GET / HTTP/1.1\r\nHost: x\r\n", "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nab"}) {
    Socket socket(server->port());
    socket.send(beginning);
    const auto start = std::chrono::steady_clock::now();
    EXPECT_EQ(socket.read_all(), "") << beginning;
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10)) << beginning;
  }
}

TEST(Http, HeadersThatComeDropByDropHaveALimitInAll) {
  const auto server = serve(quick(), echo);
  Socket socket(server->port());
  const auto start = std::chrono::steady_clock::now();
  socket.send("GET / HTTP/1.1\r\n");
  for (int i = 0; i < 30 && std::chrono::steady_clock::now() - start < std::chrono::seconds(3); ++i) {
    socket.send("X: y\r\n");
    ::usleep(100000);
  }
  EXPECT_EQ(socket.read_all(), "");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
}

TEST(Http, ConnectionsAboveTheLimitWait) {
  HttpOptions options = quick();
  options.connection_limit = 2;
  const auto server = serve(options, echo);
  auto first = std::make_unique<Socket>(server->port()), second = std::make_unique<Socket>(server->port());
  Socket third(server->port());  // the system holds it
  third.send("GET /third HTTP/1.1\r\nConnection: close\r\n\r\n");
  for (int i = 0; i < 50 && server->connections() < 2; ++i) ::usleep(10000);
  EXPECT_EQ(server->connections(), 2u);
  first.reset();
  EXPECT_THAT(third.read_all(), HasSubstr("GET /third"));
}

TEST(Http, StreamsInPiecesAndToldOfAClientThatGoes) {
  std::promise<void> gone;
  std::promise<ResponderPtr> kept;
  const auto server = serve(quick(), [&](const RequestPtr&, const ResponderPtr& responder) {
    responder->on_close([&] { gone.set_value(); });
    responder->begin({.type = "text/plain"});
    responder->write("one");
    kept.set_value(responder);
  });
  Socket socket(server->port());
  socket.send("GET / HTTP/1.1\r\n\r\n");
  const ResponderPtr responder = kept.get_future().get();
  socket.close();
  EXPECT_EQ(gone.get_future().wait_for(std::chrono::seconds(10)), std::future_status::ready);
  responder->write("two");  // nobody hears it
  responder->end();
  bool late = false;
  responder->on_close([&] { late = true; });
  EXPECT_TRUE(late);
}

TEST(Http, AClientThatDoesNotReadIsLetGo) {
  HttpOptions options = quick();
  options.unsent_limit = 1 << 20;
  std::promise<void> gone;
  std::promise<ResponderPtr> kept;
  const auto server = serve(options, [&](const RequestPtr&, const ResponderPtr& responder) {
    responder->on_close([&] { gone.set_value(); });
    responder->begin({.type = "text/plain"});
    kept.set_value(responder);
  });
  Socket socket(server->port());
  socket.send("GET / HTTP/1.1\r\n\r\n");
  const ResponderPtr responder = kept.get_future().get();
  const std::string piece(1 << 20, 'x');
  auto over = gone.get_future();
  for (int i = 0; i < 1000 && over.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready; ++i)
    responder->write(piece);
  EXPECT_EQ(over.wait_for(std::chrono::seconds(10)), std::future_status::ready);
}

TEST(Http, WhatHasEndedIsSentBeforeTheServerEnds) {
  const std::string body(size_t{4} << 20, 'x');
  std::promise<void> answered;
  auto server = serve(quick(), [&](const RequestPtr&, const ResponderPtr& responder) {
    responder->send({.type = "text/plain", .body = body});
    answered.set_value();
  });
  Socket socket(server->port());
  socket.send("GET / HTTP/1.1\r\n\r\n");
  answered.get_future().wait();
  auto received = std::async(std::launch::async, [&] {
    ::usleep(200000);  // a client that takes its time
    return socket.read_all();
  });
  server->stop_accepting();
  server->settle(10);
  server.reset();
  EXPECT_TRUE(received.get().ends_with(body));
}

TEST(Http, TheEndOfTheServerEndsStreams) {
  std::promise<ResponderPtr> kept;
  auto server = serve(quick(), [&](const RequestPtr&, const ResponderPtr& responder) {
    responder->begin({.type = "text/plain"});
    responder->write("one");
    kept.set_value(responder);
  });
  Socket socket(server->port());
  socket.send("GET / HTTP/1.1\r\n\r\n");
  const ResponderPtr responder = kept.get_future().get();
  server.reset();
  responder->write("two");
  EXPECT_THAT(socket.read_all(), HasSubstr("200 OK"));
}

}  // namespace
}  // namespace terrace::serve
