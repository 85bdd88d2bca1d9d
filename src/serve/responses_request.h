// Requests of OpenAI's Responses API, brought into the common form, and the conversations that they continue.
#pragma once

#include <list>
#include <mutex>
#include <unordered_map>

#include "serve/chat_request.h"

namespace terrace::serve {

/// What was said up to a response, by its id: bounded in number and bytes, the oldest go first. Thread-safe.
class ResponseStore {
 public:
  void put(const std::string& id, Json response, Json messages);
  /// The messages up to and with that response.
  std::optional<Json> messages(const std::string& id) const;
  std::optional<Json> response(const std::string& id) const;
  bool erase(const std::string& id);

 private:
  struct Entry {
    std::string id;
    Json response, messages;
    size_t bytes = 0;
  };
  using Entries = std::list<Entry>;
  void drop(Entries::iterator entry);

  mutable std::mutex mutex_;
  Entries entries_;  // the newest first
  std::unordered_map<std::string, Entries::iterator> places_;
  size_t bytes_ = 0;
};

struct ResponsesRequest {
  ChatRequest chat;
  Json echo;  ///< the settings that the response object repeats
  bool store = true;
};

/// Reads a body of /v1/responses (https://platform.openai.com/docs/api-reference/responses/create).
std::optional<Refusal> read_responses_request(const Json& body, const Service& service, const ResponseStore& store,
                                              ResponsesRequest& into);

}  // namespace terrace::serve
