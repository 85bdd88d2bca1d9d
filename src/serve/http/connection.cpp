#include "serve/http/connection.h"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <chrono>

namespace terrace::serve {
namespace {

using std::chrono::seconds;
constexpr auto kUse = asio::as_tuple(asio::use_awaitable);

/// %XX and nothing else; a broken escape stays as it is.
std::string percent_decoded(std::string_view text) {
  const auto digit = [](char c) {
    if (c >= '0' && c <= '9') return c - '0';
    c = static_cast<char>(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
  };
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() && digit(text[i + 1]) >= 0 && digit(text[i + 2]) >= 0) {
      decoded += static_cast<char>(digit(text[i + 1]) * 16 + digit(text[i + 2]));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

using Parser = http::request_parser<http::string_body>;

RequestPtr request_of(Parser& parser, const std::string& peer) {
  auto& message = parser.get();
  auto request = std::make_shared<HttpRequest>();
  request->method = std::string(message.method_string());
  const std::string target(message.target());
  const size_t question = target.find('?');
  request->path = percent_decoded(std::string_view(target).substr(0, question));
  if (question != std::string::npos) request->query = target.substr(question + 1);
  for (const auto& field : message) {
    std::string name(field.name_string());
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    request->headers[name] = std::string(field.value());
  }
  request->body = std::move(message.body());
  request->peer = peer;
  return request;
}

/// The status for a request that could not be read; 0: there was none, or nobody is left to be told.
int refusal_status(const beast::error_code& error) {
  if (error == http::error::body_limit) return 413;
  if (error == http::error::header_limit || error == http::error::buffer_overflow) return 431;
  if (error == http::error::end_of_stream || error == http::error::partial_message) return 0;
  return error.category() == http::make_error_code(http::error::bad_method).category() ? 400 : 0;
}

std::string_view refusal_text(int status) {
  switch (status) {
    case 413:
      return "the body is larger than this server accepts";
    case 431:
      return "the headers are larger than this server accepts";
    default:
      return "this is not an HTTP/1.1 request";
  }
}

http::response<http::string_body> message_of(HttpResponse response, unsigned version, bool keep_alive) {
  http::response<http::string_body> message{static_cast<http::status>(response.status), version};
  message.set(http::field::server, "terrace");
  message.set(http::field::content_type, response.type);
  for (const auto& [name, value] : response.headers) message.set(name, value);
  message.keep_alive(keep_alive);
  message.body() = std::move(response.body);
  return message;
}

/// Closes an outbox however its request ends, be it with the whole server, and counts it until then.
class Closing {
 public:
  Closing(Outbox& outbox, std::atomic<size_t>& count) : outbox_(outbox), count_(count) { ++count_; }
  ~Closing() {
    outbox_.close(/*gone=*/true);
    --count_;
  }
  Closing(const Closing&) = delete;
  Closing& operator=(const Closing&) = delete;

 private:
  Outbox& outbox_;
  std::atomic<size_t>& count_;
};

/// One connection's coroutines and what they share; all run on one strand.
template <class Stream>
class Connection {
 public:
  Connection(Stream& stream, Serving& serving, const std::string& peer)
      : stream_(stream),
        serving_(serving),
        options_(serving.options),
        peer_(peer),
        news_(std::make_shared<asio::steady_timer>(stream.get_executor())) {}

  asio::awaitable<void> run() {
    while (!serving_.stopping) {
      Parser parser;
      parser.header_limit(static_cast<uint32_t>(options_.header_limit));
      parser.body_limit(options_.body_limit);
      const auto error = co_await read(parser);
      if (error) {
        if (const int status = refusal_status(error); status != 0) co_await refuse(status);
        co_return;
      }
      if (!co_await answer(parser)) co_return;
    }
  }

 private:
  beast::tcp_stream& socket() { return beast::get_lowest_layer(stream_); }

  asio::awaitable<beast::error_code> read(Parser& parser) {
    beast::error_code error;
    size_t count = 0;
    if (buffer_.size() == 0) {
      socket().expires_after(seconds(options_.idle_seconds));
      std::tie(error, count) = co_await stream_.async_read_some(buffer_.prepare(4096), kUse);
      if (error) co_return http::error::end_of_stream;
      buffer_.commit(count);
    }
    socket().expires_after(seconds(options_.header_seconds));
    std::tie(error, count) = co_await http::async_read_header(stream_, buffer_, parser, kUse);
    if (error) co_return error;
    if (beast::iequals(parser.get()[http::field::expect], "100-continue")) {
      http::response<http::empty_body> go_on{http::status::continue_, parser.get().version()};
      std::tie(error, count) = co_await http::async_write(stream_, go_on, kUse);
      if (error) co_return error;
    }
    socket().expires_after(seconds(options_.body_seconds));
    std::tie(error, count) = co_await http::async_read(stream_, buffer_, parser, kUse);
    co_return error;
  }

  asio::awaitable<void> refuse(int status) {
    auto message =
        message_of({status, "text/plain; charset=utf-8", std::string(refusal_text(status)) + "\n"}, 11, false);
    message.prepare_payload();
    socket().expires_after(seconds(options_.write_seconds));
    co_await http::async_write(stream_, message, kUse);
    // What the client is still sending is read and dropped for a moment: closing on it would lose the answer.
    socket().expires_after(seconds(1));
    for (size_t dropped = 0; dropped < (size_t{1} << 20);) {
      buffer_.clear();
      const auto [error, count] = co_await stream_.async_read_some(buffer_.prepare(65536), kUse);
      if (error) break;
      dropped += count;
    }
  }

  /// Whether the connection can serve another request.
  asio::awaitable<bool> answer(Parser& parser) {
    using namespace asio::experimental::awaitable_operators;  // NOLINT(google-build-using-namespace)
    // Handlers may outlive the connection, hence the shares.
    auto executor = stream_.get_executor();
    auto outbox = std::make_shared<Outbox>(
        [news = news_, executor] { asio::post(executor, [news] { news->cancel(); }); }, options_.unsent_limit);
    const bool keep_alive = parser.get().keep_alive() && !serving_.stopping;
    const unsigned version = parser.get().version();
    const bool head_only = parser.get().method() == http::verb::head;
    const Closing closing{*outbox, serving_.answering};
    serving_.handler(request_of(parser, peer_), outbox);
    // Either the response ends or the client goes; what is left of the two is cancelled.
    const auto outcome = co_await (send(*outbox, version, keep_alive, head_only) || watch());
    const bool sent = outcome.index() == 0 && std::get<0>(outcome);
    outbox->close(/*gone=*/!sent);
    co_return sent&& keep_alive;
  }

  /// Writes the response as it comes. False: the client does not take it.
  asio::awaitable<bool> send(Outbox& outbox, unsigned version, bool keep_alive, bool head_only) {
    bool begun = false, chunked = false;
    for (;;) {
      Outbox::Taken taken = outbox.take();
      if (taken.overfull) co_return false;
      if (taken.head && taken.whole)
        co_return co_await send_whole(std::move(*taken.head), version, keep_alive, head_only);
      if (taken.head) {
        begun = true;
        chunked = version >= 11 && !head_only;
        if (!co_await send_head(std::move(*taken.head), version, keep_alive, chunked)) co_return false;
      }
      if (begun && !head_only && !taken.body.empty() && !co_await send_piece(taken.body, chunked)) co_return false;
      if (taken.ended) {
        if (chunked) co_return co_await write_all(http::make_chunk_last());
        co_return keep_alive&& head_only;
      }
      if (taken.head || !taken.body.empty()) continue;  // more may have come meanwhile
      news_->expires_at(asio::steady_timer::time_point::max());
      if (const auto [error] = co_await news_->async_wait(kUse);
          error && cancelled(co_await asio::this_coro::cancellation_state))
        co_return false;
    }
  }

  static bool cancelled(const asio::cancellation_state& state) {
    return state.cancelled() != asio::cancellation_type::none;
  }

  asio::awaitable<bool> send_whole(HttpResponse response, unsigned version, bool keep_alive, bool head_only) {
    auto message = message_of(std::move(response), version, keep_alive);
    message.prepare_payload();
    if (head_only) message.body().clear();
    socket().expires_after(seconds(options_.write_seconds));
    const auto [error, count] = co_await http::async_write(stream_, message, kUse);
    co_return !error;
  }

  asio::awaitable<bool> send_head(HttpResponse response, unsigned version, bool keep_alive, bool chunked) {
    auto message = message_of(std::move(response), version, keep_alive && chunked);
    http::response<http::empty_body> head(std::move(message.base()));
    head.chunked(chunked);
    http::response_serializer<http::empty_body> serializer(head);
    socket().expires_after(seconds(options_.write_seconds));
    const auto [error, count] = co_await http::async_write_header(stream_, serializer, kUse);
    co_return !error;
  }

  asio::awaitable<bool> send_piece(const std::string& piece, bool chunked) {
    const asio::const_buffer bytes(piece.data(), piece.size());
    if (chunked) co_return co_await write_all(http::make_chunk(bytes));
    co_return co_await write_all(bytes);
  }

  template <class Buffers>
  asio::awaitable<bool> write_all(Buffers buffers) {
    socket().expires_after(seconds(options_.write_seconds));
    const auto [error, count] = co_await asio::async_write(stream_, buffers, kUse);
    co_return !error;
  }

  /// Returns when the client has gone. What it sends ahead, the next request, is kept up to a bound.
  asio::awaitable<void> watch() {
    socket().expires_never();
    for (;;) {
      if (buffer_.size() > options_.header_limit) {  // it can wait: the rest is read after the response
        asio::steady_timer never(stream_.get_executor(), asio::steady_timer::time_point::max());
        co_await never.async_wait(kUse);
        co_return;
      }
      const auto [error, count] = co_await stream_.async_read_some(buffer_.prepare(4096), kUse);
      if (error) co_return;
      buffer_.commit(count);
    }
  }

  Stream& stream_;
  Serving& serving_;
  const HttpOptions& options_;
  const std::string& peer_;
  std::shared_ptr<asio::steady_timer> news_;  ///< cancelled when the outbox has something
  beast::flat_buffer buffer_;
};

}  // namespace

template <class Stream>
asio::awaitable<void> serve_connection(Stream& stream, Serving& serving, const std::string& peer) {
  Connection<Stream> connection(stream, serving, peer);
  co_await connection.run();
}

template asio::awaitable<void> serve_connection(beast::tcp_stream&, Serving&, const std::string&);
template asio::awaitable<void> serve_connection(beast::ssl_stream<beast::tcp_stream>&, Serving&, const std::string&);

}  // namespace terrace::serve
