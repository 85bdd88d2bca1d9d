#include "serve/http/server.h"

#include <atomic>
#include <thread>

#include "serve/http/connection.h"

namespace terrace::serve {
namespace {

using asio::ip::tcp;
constexpr auto kUse = asio::as_tuple(asio::use_awaitable);

/// Counts a connection as long as it lives.
class Place {
 public:
  explicit Place(std::atomic<size_t>& count) : count_(count) { ++count_; }
  ~Place() { --count_; }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

 private:
  std::atomic<size_t>& count_;
};

}  // namespace

struct HttpServer::Impl {
  Impl(const HttpOptions& options, Handler handle) : acceptor(context) {
    serving.options = options;
    serving.handler = [this, handle = std::move(handle)](const RequestPtr& request, const ResponderPtr& responder) {
      asio::post(workers, [handle, request, responder] { handle(request, responder); });
    };
  }

  Status listen();
  Status load_tls();
  asio::awaitable<void> accept();
  asio::awaitable<void> serve(tcp::socket socket, std::shared_ptr<Place> place);

  // What connections use comes before the context, with which those that are left end.
  Serving serving;
  std::optional<asio::ssl::context> tls;
  std::atomic<size_t> open = 0;
  asio::thread_pool workers{4};  // for handlers: a long one must not hold up the answers that are being sent
  asio::io_context context{1};
  tcp::acceptor acceptor;
  std::thread thread;
};

Status HttpServer::Impl::listen() {
  boost::system::error_code error;
  tcp::resolver resolver(context);
  const auto found =
      resolver.resolve(serving.options.host, std::to_string(serving.options.port), tcp::resolver::passive, error);
  if (error || found.empty()) return fail("the address {} is unknown: {}", serving.options.host, error.message());
  const tcp::endpoint endpoint = found.begin()->endpoint();
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error) acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) {
    return fail("cannot listen on {}:{}: {}; another program may have the port, choose one with --port",
                serving.options.host, serving.options.port, error.message());
  }
  return Done{};
}

Status HttpServer::Impl::load_tls() {
  if (serving.options.tls_certificate.empty() && serving.options.tls_key.empty()) return Done{};
  if (serving.options.tls_certificate.empty() || serving.options.tls_key.empty())
    return fail("TLS needs both a certificate and its key; give --tls-cert and --tls-key");
  tls.emplace(asio::ssl::context::tls_server);
  tls->set_options(asio::ssl::context::default_workarounds | asio::ssl::context::no_sslv2 |
                   asio::ssl::context::no_sslv3 | asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1);
  boost::system::error_code error;
  tls->use_certificate_chain_file(serving.options.tls_certificate, error);
  if (error) return fail("{}: is no certificate in PEM form: {}", serving.options.tls_certificate, error.message());
  tls->use_private_key_file(serving.options.tls_key, asio::ssl::context::pem, error);
  if (error)
    return fail("{}: is not the key of the certificate, in PEM form: {}", serving.options.tls_key, error.message());
  return Done{};
}

asio::awaitable<void> HttpServer::Impl::accept() {
  asio::steady_timer pause(context);
  const auto wait = [&] {
    pause.expires_after(std::chrono::milliseconds(20));
    return pause.async_wait(kUse);
  };
  while (acceptor.is_open()) {
    if (open >= serving.options.connection_limit) {
      co_await wait();
      continue;
    }
    auto [error, socket] = co_await acceptor.async_accept(kUse);
    if (error == asio::error::operation_aborted || error == asio::error::bad_descriptor) co_return;
    if (error) {  // out of descriptors, most likely: some may be free in a moment
      co_await wait();
      continue;
    }
    auto place = std::make_shared<Place>(open);
    asio::co_spawn(context, serve(std::move(socket), std::move(place)), asio::detached);
  }
}

asio::awaitable<void> HttpServer::Impl::serve(tcp::socket socket, std::shared_ptr<Place> /*place*/) {
  boost::system::error_code error;
  const auto remote = socket.remote_endpoint(error);
  if (error) co_return;
  socket.set_option(tcp::no_delay(true), error);
  const std::string peer = remote.address().to_string();
  if (!tls) {
    beast::tcp_stream stream(std::move(socket));
    co_await serve_connection(stream, serving, peer);
    stream.socket().shutdown(tcp::socket::shutdown_send, error);
    co_return;
  }
  beast::ssl_stream<beast::tcp_stream> stream(beast::tcp_stream(std::move(socket)), *tls);
  beast::get_lowest_layer(stream).expires_after(std::chrono::seconds(serving.options.header_seconds));
  if (const auto [failed] = co_await stream.async_handshake(asio::ssl::stream_base::server, kUse); failed) co_return;
  co_await serve_connection(stream, serving, peer);
  beast::get_lowest_layer(stream).expires_after(std::chrono::seconds(2));
  co_await stream.async_shutdown(kUse);
}

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Result<std::unique_ptr<HttpServer>> HttpServer::start(const HttpOptions& options, Handler handler) {
  auto impl = std::make_unique<Impl>(options, std::move(handler));
  TERRACE_CHECK(impl->load_tls());
  TERRACE_CHECK(impl->listen());
  asio::co_spawn(impl->context, impl->accept(), asio::detached);
  impl->thread = std::thread([&context = impl->context] { context.run(); });
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

HttpServer::~HttpServer() {
  impl_->workers.join();
  impl_->context.stop();
  impl_->thread.join();
}

void HttpServer::settle(double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (impl_->serving.answering > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

uint16_t HttpServer::port() const { return impl_->acceptor.local_endpoint().port(); }
size_t HttpServer::connections() const { return impl_->open; }

void HttpServer::stop_accepting() {
  asio::post(impl_->context, [impl = impl_.get()] {
    impl->serving.stopping = true;
    boost::system::error_code ignored;
    impl->acceptor.close(ignored);
  });
}

}  // namespace terrace::serve
