// Who may use the server: keys, and the hosts and origins that a browser's requests may come with.
#pragma once

#include <mutex>
#include <string>
#include <vector>

#include "serve/refusal.h"

namespace terrace::serve {

struct AccessOptions {
  std::string host = "127.0.0.1";  ///< where the server listens
  std::vector<std::string> keys;
  std::string key_file;  ///< one key per line; read again by reload_keys()
  std::vector<std::string>
      allowed_hosts;  ///< names by which the server may be called, besides addresses of the machine itself
  std::vector<std::string> origins;  ///< web pages of these origins may use the API; "*": all
  bool allow_public = false;         ///< a public address without keys
};

class Access {
 public:
  /// An error when the address is public and there is no key, or a key file cannot be read.
  static Result<Access> create(AccessOptions options);

  /// The Bearer token, else x-api-key; empty: none.
  static std::string_view key_of(const HttpRequest& request);
  /// Bearer token or x-api-key, compared in constant time.
  std::optional<Refusal> check_key(const HttpRequest& request) const;
  /// Pages of other origins, and names that a foreign name server has pointed here (DNS rebinding), are refused.
  std::optional<Refusal> check_origin(const HttpRequest& request) const;
  void add_cors(const HttpRequest& request, HttpResponse& response) const;
  HttpResponse preflight() const;
  /// An error leaves the keys as they were. Thread-safe.
  Status reload_keys();
  bool has_keys() const;

 private:
  struct Keys {
    std::mutex mutex;
    std::vector<std::string> all;
  };
  bool origin_allowed(const HttpRequest& request) const;

  AccessOptions options_;
  std::shared_ptr<Keys> keys_ = std::make_shared<Keys>();
};

/// Whether only this machine can reach the address.
bool is_loopback(std::string_view host);

}  // namespace terrace::serve
