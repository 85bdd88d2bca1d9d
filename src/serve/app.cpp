#include "serve/app.h"

#include <fmt/format.h>
#include <openssl/sha.h>

#include <algorithm>

#include "serve/app_files.h"
#include "serve/fields.h"

namespace terrace::serve {
namespace {

/// Nothing but the app's own files and requests to this server: what a model writes cannot run, and cannot tell
/// another server about the chat.
constexpr const char* kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri "
    "'none'; form-action 'none'; frame-ancestors 'none'";

const char* type_of(std::string_view path) {
  if (path.ends_with(".html")) return "text/html; charset=utf-8";
  if (path.ends_with(".js")) return "text/javascript; charset=utf-8";
  if (path.ends_with(".css")) return "text/css; charset=utf-8";
  if (path.ends_with(".txt")) return "text/plain; charset=utf-8";
  if (path.ends_with(".svg")) return "image/svg+xml";
  return "application/octet-stream";
}

void send_file(const Call& call) {
  const std::string path = call.request->path == "/" ? "index.html" : call.request->path.substr(1);
  const auto files = app_files();
  const auto found = std::find_if(files.begin(), files.end(), [&](const AppFile& file) { return file.path == path; });
  if (found == files.end()) return call.refuse({404, fmt::format("the web app has no file {}", call.request->path)});
  // no-cache: browsers keep the file, and ask each time whether it is still the same.
  HttpResponse response{.type = type_of(path),
                        .headers = {{"ETag", std::string(found->etag)},
                                    {"Cache-Control", "no-cache"},
                                    {"Content-Security-Policy", kPolicy},
                                    {"X-Content-Type-Options", "nosniff"},
                                    {"Referrer-Policy", "no-referrer"}}};
  if (call.request->header("if-none-match") == found->etag) {
    response.status = 304;
  } else {
    response.body = found->body;
  }
  call.responder->send(std::move(response));
}

/// Each key has chats of its own, and the store does not learn the key.
std::string owner_of(const Router& router, const HttpRequest& request) {
  if (!router.access().has_keys()) return "";
  const std::string_view key = Access::key_of(request);
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(key.data()), key.size(), digest);
  std::string owner;
  for (const unsigned char byte : digest) owner += fmt::format("{:02x}", byte);
  return owner;
}

class Chats {
 public:
  Chats(const Router& router, ChatStore& store) : router_(router), store_(store) {}

  void list(const Call& call) const {
    const auto chats = store_.list(owner_of(router_, *call.request));
    if (!chats) return call.refuse({500, chats.error().message});
    Json listed = Json::array();
    for (const ChatSummary& chat : *chats)
      listed.push_back({{"id", chat.id}, {"title", chat.title}, {"updated", chat.updated}});
    call.send({{"enabled", true}, {"chats", std::move(listed)}});
  }

  void get(const Call& call) const {
    const auto chat = store_.load(owner_of(router_, *call.request), call.tail);
    if (!chat) return call.refuse({500, chat.error().message});
    if (!*chat) return call.refuse(unknown(call.tail));
    // The document is JSON already: it was when it was taken.
    call.responder->send(
        {.body = fmt::format("{{\"revision\": {}, \"chat\": {}}}\n", (*chat)->revision, (*chat)->document)});
  }

  void put(const Call& call) const {
    if (call.request->body.size() > store_.limits().chat_bytes)
      return call.refuse({413, fmt::format("the chat has {} bytes; at most {} are kept", call.request->body.size(),
                                           store_.limits().chat_bytes)});
    const auto body = parse_json(call.request->body);
    if (!body) return call.refuse({400, "the body is " + body.error().message});
    std::optional<Refusal> problem;
    const Fields fields(*body, "", problem);
    int64_t revision = 0;
    fields.read("revision", revision, 0);
    const Json* document = fields.object("chat");
    if (!document && !problem) fields.refuse("chat", "is missing");
    ChatSummary chat{.id = call.tail};
    if (document) {
      const Fields inner(*document, "chat", problem);
      inner.read("title", chat.title);
      inner.read("updated", chat.updated, 0);
    }
    if (problem) return call.refuse(*problem);
    if (auto refusal = check_id(call.tail)) return call.refuse(*refusal);
    const auto saved = store_.save(owner_of(router_, *call.request), chat, revision, json_line(*document));
    if (!saved) return call.refuse({500, saved.error().message});
    answer(call, *saved, revision);
  }

  void remove(const Call& call) const {
    const auto removed = store_.remove(owner_of(router_, *call.request), call.tail);
    if (!removed) return call.refuse({500, removed.error().message});
    if (!*removed) return call.refuse(unknown(call.tail));
    call.send({{"deleted", true}});
  }

 private:
  static Refusal unknown(const std::string& id) { return {404, fmt::format("there is no chat '{}'", id)}; }

  static std::optional<Refusal> check_id(const std::string& id) {
    const auto allowed = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
    };
    if (!id.empty() && id.size() <= 64 && std::all_of(id.begin(), id.end(), allowed)) return std::nullopt;
    return Refusal{400, "a chat's id has from 1 to 64 letters, digits, - and _"};
  }

  void answer(const Call& call, SaveOutcome outcome, int64_t revision) const {
    switch (outcome) {
      case SaveOutcome::saved:
        return call.send({{"revision", revision + 1}});
      case SaveOutcome::conflict:
        return call.refuse({409,
                            "the chat has been changed or deleted since it was read; read it again, or save "
                            "yours under another id"});
      case SaveOutcome::full:
        return call.refuse({507, fmt::format("the file of the chats is full: it holds {} chats of each client and {} "
                                             "MiB at most; delete some, or export them",
                                             store_.limits().chats, store_.limits().file_bytes >> 20)});
    }
  }

  const Router& router_;
  ChatStore& store_;
};

}  // namespace

void add_app(Router& router, ChatStore* chats) {
  if (chats) {
    const Chats served(router, *chats);
    router.add("GET", "/app/chats", [served](const Call& call) { served.list(call); });
    router.add("GET", "/app/chats/*", [served](const Call& call) { served.get(call); });
    router.add("PUT", "/app/chats/*", [served](const Call& call) { served.put(call); });
    router.add("DELETE", "/app/chats/*", [served](const Call& call) { served.remove(call); });
  } else {
    router.add("GET", "/app/chats",
               [](const Call& call) { call.send({{"enabled", false}, {"chats", Json::array()}}); });
  }
  router.add("GET", "/", send_file, /*open=*/true);
  router.add("GET", "/app/*", send_file, /*open=*/true);
}

}  // namespace terrace::serve
