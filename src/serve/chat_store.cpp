#include "serve/chat_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <unistd.h>

#include <cstring>

namespace terrace::serve {
namespace {

constexpr int64_t kApplication = 0x54727263;  // "Trrc": says whose file it is, in SQLite's header
constexpr int64_t kVersion = 1;
constexpr int kPatience = 250;  // milliseconds for another process's write; other requests wait as long
constexpr size_t kPageBytes = 4096;

constexpr const char* kSchema =
    "CREATE TABLE IF NOT EXISTS chats (owner TEXT NOT NULL, id TEXT NOT NULL, revision INTEGER NOT NULL, "
    "title TEXT NOT NULL, updated INTEGER NOT NULL, document TEXT NOT NULL, PRIMARY KEY (owner, id))";

}  // namespace

/// A prepared statement with its arguments.
class ChatStore::Statement {
 public:
  Statement(sqlite3* database, const char* sql) { sqlite3_prepare_v2(database, sql, -1, &statement_, nullptr); }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  /// Arguments in their order; texts must outlive the statement.
  Statement& add(const std::string& text) {
    sqlite3_bind_text64(statement_, ++bound_, text.data(), text.size(), SQLITE_STATIC, SQLITE_UTF8);
    return *this;
  }
  Statement& add(int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
    return *this;
  }
  /// SQLITE_ROW, SQLITE_DONE or an error.
  int step() { return statement_ ? sqlite3_step(statement_) : SQLITE_ERROR; }
  int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  std::string text(int column) const {
    const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
    return bytes ? std::string(bytes, static_cast<size_t>(sqlite3_column_bytes(statement_, column))) : std::string();
  }

 private:
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

Result<std::unique_ptr<ChatStore>> ChatStore::open(const std::string& path, const ChatLimits& limits) {
  // SQLite would make a file that all may read; its companions follow the file's rights.
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (made < 0) return fail("{}: cannot be opened for the chats: {}", path, std::strerror(errno));
  ::close(made);
  std::unique_ptr<ChatStore> store(new ChatStore(path, limits));
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
  if (sqlite3_open_v2(path.c_str(), &store->database_, flags, nullptr) != SQLITE_OK) return store->failed();
  TERRACE_CHECK(store->check_file());
  TERRACE_CHECK(store->prepare_file());
  return store;
}

ChatStore::~ChatStore() { sqlite3_close(database_); }

Status ChatStore::check_file() {
  sqlite3_busy_timeout(database_, kPatience);
  sqlite3_db_config(database_, SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
  TERRACE_CHECK(run("PRAGMA trusted_schema = OFF"));
  TERRACE_TRY(const int64_t tables, number("SELECT count(*) FROM sqlite_master"));
  if (tables == 0) return Done{};
  TERRACE_TRY(const int64_t application, number("PRAGMA application_id"));
  if (application != kApplication)
    return fail("{}: is the database of another program; give --chats a file of its own", path_);
  TERRACE_TRY(const int64_t version, number("PRAGMA user_version"));
  if (version != kVersion)
    return fail("{}: was written by another version of terrace ({}, this one reads {})", path_, version, kVersion);
  Statement check(database_, "PRAGMA quick_check(1)");
  if (check.step() != SQLITE_ROW) return failed();
  if (const std::string found = check.text(0); found != "ok")
    return fail("{}: is damaged ({}); move it away, or bring back a copy", path_, found);
  return Done{};
}

Status ChatStore::prepare_file() {
  TERRACE_CHECK(run("PRAGMA journal_mode = WAL"));
  TERRACE_CHECK(run("PRAGMA synchronous = NORMAL"));
  TERRACE_CHECK(run(kSchema));
  TERRACE_CHECK(run(fmt::format("PRAGMA application_id = {}", kApplication).c_str()));
  TERRACE_CHECK(run(fmt::format("PRAGMA user_version = {}", kVersion).c_str()));
  return run(fmt::format("PRAGMA max_page_count = {}", limits_.file_bytes / kPageBytes).c_str());
}

Status ChatStore::run(const char* sql) {
  Statement statement(database_, sql);
  int code = SQLITE_ROW;
  while (code == SQLITE_ROW) code = statement.step();
  if (code != SQLITE_DONE) return failed();
  return Done{};
}

Result<int64_t> ChatStore::number(const char* sql) {
  Statement statement(database_, sql);
  if (statement.step() != SQLITE_ROW) return failed();
  return statement.number(0);
}

Error ChatStore::failed() const {
  switch (sqlite3_errcode(database_)) {
    case SQLITE_NOTADB:
      return fail("{}: is no file of chats; give --chats another one", path_);
    case SQLITE_CORRUPT:
      return fail("{}: is damaged ({}); move it away, or bring back a copy", path_, sqlite3_errmsg(database_));
    case SQLITE_BUSY:
      return fail("{}: another program is writing to it; try again", path_);
    default:
      return fail("{}: the chats cannot be read or written: {}", path_, sqlite3_errmsg(database_));
  }
}

Result<std::vector<ChatSummary>> ChatStore::list(const std::string& owner) {
  const std::lock_guard lock(mutex_);
  Statement query(database_, "SELECT id, title, updated FROM chats WHERE owner = ? ORDER BY updated DESC, id");
  query.add(owner);
  std::vector<ChatSummary> chats;
  int code = SQLITE_ROW;
  while ((code = query.step()) == SQLITE_ROW) chats.push_back({query.text(0), query.text(1), query.number(2)});
  if (code != SQLITE_DONE) return failed();
  return chats;
}

Result<std::optional<KeptChat>> ChatStore::load(const std::string& owner, const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement query(database_, "SELECT revision, document FROM chats WHERE owner = ? AND id = ?");
  const int code = query.add(owner).add(id).step();
  if (code == SQLITE_DONE) return std::optional<KeptChat>();
  if (code != SQLITE_ROW) return failed();
  return std::optional(KeptChat{query.number(0), query.text(1)});
}

Result<SaveOutcome> ChatStore::save(const std::string& owner, const ChatSummary& chat, int64_t revision,
                                    const std::string& document) {
  const std::lock_guard lock(mutex_);
  // One statement each, so that no other process can come between the look at the revision and the change.
  constexpr const char* insert =
      "INSERT INTO chats (title, updated, document, owner, id, revision) SELECT ?1, ?2, ?3, ?4, ?5, 1 "
      "WHERE (SELECT count(*) FROM chats WHERE owner = ?4) < ?6 ON CONFLICT DO NOTHING";
  constexpr const char* update =
      "UPDATE chats SET title = ?1, updated = ?2, document = ?3, revision = revision + 1 "
      "WHERE owner = ?4 AND id = ?5 AND revision = ?6";
  Statement change(database_, revision == 0 ? insert : update);
  change.add(chat.title).add(chat.updated).add(document).add(owner).add(chat.id);
  const int code = change.add(revision == 0 ? static_cast<int64_t>(limits_.chats) : revision).step();
  if (code == SQLITE_FULL) return SaveOutcome::full;
  if (code != SQLITE_DONE) return failed();
  if (sqlite3_changes(database_) == 1) return SaveOutcome::saved;
  if (revision != 0) return SaveOutcome::conflict;
  Statement same(database_, "SELECT 1 FROM chats WHERE owner = ? AND id = ?");
  return same.add(owner).add(chat.id).step() == SQLITE_ROW ? SaveOutcome::conflict : SaveOutcome::full;
}

Result<bool> ChatStore::remove(const std::string& owner, const std::string& id) {
  const std::lock_guard lock(mutex_);
  Statement change(database_, "DELETE FROM chats WHERE owner = ? AND id = ?");
  if (change.add(owner).add(id).step() != SQLITE_DONE) return failed();
  return sqlite3_changes(database_) == 1;
}

}  // namespace terrace::serve
