#include "serve/http/client.h"

#include "serve/http/asio.h"

namespace terrace::serve {
namespace {

constexpr size_t kLongestLine = size_t{16} << 20;

using Parser = http::response_parser<http::buffer_body>;

/// Hands over whole lines; what is left of `pending` begins the next one.
bool hand_over(std::string& pending, const std::function<bool(std::string_view)>& line) {
  size_t begin = 0;
  for (size_t end; (end = pending.find('\n', begin)) != std::string::npos; begin = end + 1) {
    if (!line(std::string_view(pending).substr(begin, end - begin))) return false;
  }
  pending.erase(0, begin);
  return true;
}

Status read_body(beast::tcp_stream& stream, beast::flat_buffer& buffer, Parser& parser,
                 const std::function<bool(std::string_view)>& line) {
  const bool good = parser.get().result() == http::status::ok;
  std::string pending;
  char piece[8192];
  beast::error_code error;
  while (!parser.is_done()) {
    parser.get().body().data = piece;
    parser.get().body().size = sizeof piece;
    http::read(stream, buffer, parser, error);
    if (error == http::error::need_buffer) error = {};
    if (error) return fail("the server ended the answer early: {}", error.message());
    pending.append(piece, sizeof piece - parser.get().body().size);
    if (pending.size() > kLongestLine) return fail("the server sends a line without end");
    if (good && !hand_over(pending, line)) return Done{};
  }
  if (!good) return fail("the server refuses with status {}: {}", parser.get().result_int(), pending);
  return Done{};
}

}  // namespace

Result<HttpUrl> HttpUrl::parse(std::string_view url) {
  constexpr std::string_view scheme = "http://";
  if (!url.starts_with(scheme)) return fail("'{}' is no address of the form http://HOST:PORT", url);
  url.remove_prefix(scheme.size());
  HttpUrl parsed;
  const size_t slash = std::min(url.find('/'), url.size());
  parsed.path = url.substr(slash);
  while (parsed.path.ends_with('/')) parsed.path.pop_back();
  const std::string_view authority = url.substr(0, slash);
  const size_t bracket = authority.find(']');
  const size_t colon = authority.find(':', bracket == std::string_view::npos ? 0 : bracket);
  parsed.host = authority.substr(0, std::min(colon, authority.size()));
  if (parsed.host.starts_with('[')) parsed.host = parsed.host.substr(1, parsed.host.size() - 2);
  if (colon != std::string_view::npos) parsed.port = authority.substr(colon + 1);
  if (parsed.host.empty() || parsed.port.empty()) return fail("'{}' names no host", url);
  return parsed;
}

Status post_for_lines(const HttpUrl& url, const std::string& path, const std::string& key, const std::string& body,
                      const std::function<bool(std::string_view line)>& line) {
  asio::io_context context;
  beast::error_code error;
  const auto found = asio::ip::tcp::resolver(context).resolve(url.host, url.port, error);
  if (error) return fail("{}: is unknown: {}", url.host, error.message());
  beast::tcp_stream stream(context);
  stream.connect(found, error);
  if (error) return fail("no server answers at {}:{}: {}", url.host, url.port, error.message());
  http::request<http::string_body> request{http::verb::post, url.path + path, 11};
  request.set(http::field::host, url.host + ":" + url.port);
  request.set(http::field::content_type, "application/json");
  if (!key.empty()) request.set(http::field::authorization, "Bearer " + key);
  request.body() = body;
  request.prepare_payload();
  http::write(stream, request, error);
  if (error) return fail("the request could not be sent: {}", error.message());
  beast::flat_buffer buffer;
  Parser parser;
  parser.body_limit(boost::none);
  http::read_header(stream, buffer, parser, error);
  if (error) return fail("the server did not answer: {}", error.message());
  return read_body(stream, buffer, parser, line);
}

}  // namespace terrace::serve
