#include "serve/access.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

#include "base/file.h"

namespace terrace::serve {
namespace {

using Digest = std::array<unsigned char, SHA256_DIGEST_LENGTH>;

Digest digest_of(std::string_view text) {
  Digest digest;
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

/// The host of "host:port", "[v6]:port" or either without a port.
std::string_view host_part(std::string_view authority) {
  if (authority.starts_with('[')) return authority.substr(1, authority.find(']') - 1);
  return authority.substr(0, authority.find(':'));
}

std::string_view after_scheme(std::string_view origin) {
  const size_t at = origin.find("://");
  return at == std::string_view::npos ? origin : origin.substr(at + 3);
}

bool is_address(std::string_view host) {
  return host.find(':') != std::string_view::npos || host.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || (host.starts_with("127.") && is_address(host));
}

Result<Access> Access::create(AccessOptions options) {
  Access access;
  access.options_ = std::move(options);
  TERRACE_CHECK(access.reload_keys());
  if (!is_loopback(access.options_.host) && !access.has_keys() && !access.options_.allow_public) {
    return fail(
        "{} can be reached from other machines, and there is no key: anybody could use this server. Give --api-key or "
        "--api-key-file, or say --allow-public",
        access.options_.host);
  }
  return access;
}

Status Access::reload_keys() {
  std::vector<std::string> keys = options_.keys;
  if (!options_.key_file.empty()) {
    TERRACE_TRY(const std::string text, read_text(options_.key_file, 1 << 20));
    const size_t given = keys.size();
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      std::string line = text.substr(begin, end - begin);
      if (line.ends_with('\r')) line.pop_back();
      if (!line.empty() && line[0] != '#') keys.push_back(std::move(line));
      begin = end + 1;
    }
    if (keys.size() == given) return fail("{}: holds no key; write one per line", options_.key_file);
  }
  const std::lock_guard lock(keys_->mutex);
  keys_->all = std::move(keys);
  return Done{};
}

bool Access::has_keys() const {
  const std::lock_guard lock(keys_->mutex);
  return !keys_->all.empty();
}

std::string_view Access::key_of(const HttpRequest& request) {
  constexpr std::string_view bearer = "Bearer ";
  const std::string_view authorization = request.header("authorization");
  if (authorization.size() > bearer.size() && authorization.starts_with(bearer))
    return authorization.substr(bearer.size());
  return request.header("x-api-key");
}

std::optional<Refusal> Access::check_key(const HttpRequest& request) const {
  const std::string_view given = key_of(request);
  // Digests have one length, so the time says nothing about a key; all keys are looked at for the same reason.
  const Digest digest = digest_of(given);
  bool matches = false;
  const std::lock_guard lock(keys_->mutex);
  if (keys_->all.empty()) return std::nullopt;
  for (const std::string& key : keys_->all) {
    const Digest expected = digest_of(key);
    matches |= CRYPTO_memcmp(digest.data(), expected.data(), digest.size()) == 0;
  }
  if (matches) return std::nullopt;
  return Refusal{401,
                 given.empty() ? "this server needs a key: send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'"
                               : "the key is not one of this server's",
                 "", "invalid_api_key"};
}

bool Access::origin_allowed(const HttpRequest& request) const {
  const std::string_view origin = request.header("origin");
  // The server's own pages, and clients that are no browsers.
  if (origin.empty() || after_scheme(origin) == request.header("host")) return true;
  return std::any_of(options_.origins.begin(), options_.origins.end(),
                     [&](const std::string& allowed) { return allowed == "*" || allowed == origin; });
}

std::optional<Refusal> Access::check_origin(const HttpRequest& request) const {
  const std::string_view host = host_part(request.header("host"));
  const auto& names = options_.allowed_hosts;
  const bool known = host.empty() || is_loopback(host) || is_address(host) || host == options_.host ||
                     std::find(names.begin(), names.end(), host) != names.end();
  // With a key nobody gains anything by pointing a name here.
  if (!known && !has_keys()) {
    return Refusal{
        403, fmt::format("this server does not go by the name '{}'; if it should, start it with --allow-host {}", host,
                         host)};
  }
  if (!origin_allowed(request)) {
    return Refusal{403, fmt::format("pages of {} may not use this server; if they should, start it with --cors {}",
                                    request.header("origin"), request.header("origin"))};
  }
  return std::nullopt;
}

void Access::add_cors(const HttpRequest& request, HttpResponse& response) const {
  const std::string_view origin = request.header("origin");
  if (origin.empty() || !origin_allowed(request)) return;
  response.headers.emplace_back("Access-Control-Allow-Origin", std::string(origin));
  response.headers.emplace_back("Vary", "Origin");
}

HttpResponse Access::preflight() const {
  HttpResponse response{204, "text/plain"};
  response.headers = {{"Access-Control-Allow-Methods", "GET, POST, PUT, DELETE, OPTIONS"},
                      {"Access-Control-Allow-Headers", "*, Authorization"},
                      {"Access-Control-Max-Age", "86400"}};
  return response;
}

}  // namespace terrace::serve
