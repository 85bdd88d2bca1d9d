// The chats of the web app in an SQLite file.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

struct sqlite3;

namespace terrace::serve {

struct ChatLimits {
  size_t chat_bytes = size_t{4} << 20;
  size_t file_bytes = size_t{1} << 30;
  size_t chats = 10'000;  ///< of each owner
};

struct ChatSummary {
  std::string id;
  std::string title;
  int64_t updated = 0;  ///< milliseconds since 1970, by the client's clock
};

struct KeptChat {
  int64_t revision = 0;  ///< counts the changes, from 1
  std::string document;
};

enum class SaveOutcome { saved, conflict, full };

/// Thread-safe; several processes may share a file. An owner sees only what is its own. Each method is one
/// transaction; its error says that the file failed, not the request.
class ChatStore {
 public:
  /// Makes the file if there is none, readable by its owner alone. An error if it is no such file, or damaged.
  static Result<std::unique_ptr<ChatStore>> open(const std::string& path, const ChatLimits& limits = {});
  ~ChatStore();

  /// The newest first.
  Result<std::vector<ChatSummary>> list(const std::string& owner);
  Result<std::optional<KeptChat>> load(const std::string& owner, const std::string& id);
  /// `revision` is the one that the change was made to, 0 for a new chat; another by now is a conflict. The kept
  /// revision is the next one.
  Result<SaveOutcome> save(const std::string& owner, const ChatSummary& chat, int64_t revision,
                           const std::string& document);
  /// Whether there was such a chat.
  Result<bool> remove(const std::string& owner, const std::string& id);

  const ChatLimits& limits() const { return limits_; }

 private:
  class Statement;
  ChatStore(std::string path, const ChatLimits& limits) : path_(std::move(path)), limits_(limits) {}
  Status prepare_file();
  Status check_file();
  Status run(const char* sql);
  Result<int64_t> number(const char* sql);
  Error failed() const;

  std::string path_;
  ChatLimits limits_;
  std::mutex mutex_;
  sqlite3* database_ = nullptr;
};

}  // namespace terrace::serve
