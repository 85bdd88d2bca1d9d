#include "serve/cache_files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/file.h"

namespace terrace::serve {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMostWaiting = 32;

}  // namespace

CacheFiles::CacheFiles(std::string folder, size_t limit, Fingerprint fingerprint, const RecordLimits& limits)
    : folder_(std::move(folder)), limit_(limit), fingerprint_(fingerprint), limits_(limits) {}

Result<std::unique_ptr<CacheFiles>> CacheFiles::open(const std::string& folder, size_t limit_bytes,
                                                     Fingerprint fingerprint, const RecordLimits& limits) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("{}: cannot be made: {}", folder, error.message());
  std::unique_ptr<CacheFiles> files(new CacheFiles(folder, limit_bytes, fingerprint, limits));
  TERRACE_CHECK(files->lock());
  files->index();
  files->thread_ = std::thread([raw = files.get()] { raw->run(); });
  return files;
}

CacheFiles::~CacheFiles() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    news_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (lock_ >= 0) ::close(lock_);
}

Status CacheFiles::lock() {
  const std::string path = folder_ + "/lock";
  lock_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) return fail("{}: cannot be written: {}", path, std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0)
    return fail("{}: another server uses this folder; give each its own", folder_);
  return Done{};
}

/// Lists what is there, by age, and deletes what nobody can use.
void CacheFiles::index() {
  std::vector<std::pair<fs::file_time_type, Hash>> found;
  std::vector<fs::path> pages;
  std::error_code ignored;
  for (const auto& file : fs::directory_iterator(folder_, ignored)) {
    const fs::path& path = file.path();
    if (path.extension() == ".conversation") found.emplace_back(file.last_write_time(ignored), path.stem().string());
    if (path.extension() == ".page" || path.extension() == ".part") pages.push_back(path);
  }
  std::sort(found.begin(), found.end());
  for (const auto& [time, name] : found) {
    auto record = read(name);
    if (!record) {
      fmt::print(stderr, "terrace: {} is dropped: {}\n", entry_path(name), record.error().message);
      fs::remove(entry_path(name), ignored);
      continue;
    }
    add({name, std::move(record->pages), record->bytes});
  }
  for (const fs::path& page : pages) {
    if (!pages_.contains(page.stem().string())) fs::remove(page, ignored);
  }
}

/// Reads a checkpoint's file, without the pages.
Result<CheckpointRecord> CacheFiles::read(const Hash& name) const {
  TERRACE_TRY(const auto file, MappedFile::open(entry_path(name)));
  TERRACE_TRY(auto record, decode_record(file.bytes(), fingerprint_, limits_));
  if (record.bytes != file.bytes().size()) return fail("its sizes do not add up");
  return record;
}

/// Gives a record's checkpoint its pages, of which `known` ones are shared.
Status CacheFiles::read_pages(CheckpointRecord& record, engine::Engine& engine,
                              std::unordered_map<Hash, memory::KvPage>& known) const {
  for (const Hash& name : record.pages) {
    memory::KvPage& page = known[name];
    if (!page) {
      TERRACE_TRY(const std::string bytes, read_text(page_path(name), limits_.page_bytes));
      if (bytes.size() != limits_.page_bytes || hash_name(std::as_bytes(std::span(bytes))) != name) {
        std::error_code ignored;
        fs::remove(page_path(name), ignored);  // or it would be taken for written
        return fail("its page {} is broken", page_path(name));
      }
      page = engine.new_page();
      std::memcpy(page.get(), bytes.data(), bytes.size());
    }
    record.checkpoint.pages.push_back(page);
  }
  return Done{};
}

std::vector<engine::Checkpoint> CacheFiles::load(engine::Engine& engine, size_t most_bytes) {
  std::vector<Hash> names;
  {
    const std::lock_guard lock(mutex_);
    for (const Entry& entry : entries_) names.push_back(entry.name);
  }
  std::vector<engine::Checkpoint> loaded;
  std::unordered_map<Hash, memory::KvPage> known;
  size_t bytes = 0;
  for (auto name = names.rbegin(); name != names.rend() && bytes < most_bytes; ++name) {
    const size_t before = known.size();
    auto record = read(*name);
    const Status status = record ? read_pages(*record, engine, known) : record.error();
    if (!status) {
      fmt::print(stderr, "terrace: {} is dropped: {}\n", entry_path(*name), status.error().message);
      const std::lock_guard lock(mutex_);
      forget(*name);
      continue;
    }
    bytes += record->checkpoint.state.size() + (known.size() - before) * limits_.page_bytes;
    loaded.push_back(std::move(record->checkpoint));
  }
  std::reverse(loaded.begin(), loaded.end());
  return loaded;
}

void CacheFiles::save(std::shared_ptr<const engine::Checkpoint> checkpoint) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(checkpoint));
  if (waiting_.size() > kMostWaiting) waiting_.pop_front();
  news_.notify_all();
}

void CacheFiles::flush() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return waiting_.empty() && !writing_; });
}

size_t CacheFiles::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

void CacheFiles::run() {
  std::string last_problem;
  std::unique_lock lock(mutex_);
  for (;;) {
    news_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return;
    const auto checkpoint = std::move(waiting_.front());
    waiting_.pop_front();
    writing_ = true;
    lock.unlock();
    const Status status = write(*checkpoint);
    // A full disk is said once, not with every answer.
    if (!status && status.error().message != last_problem) {
      last_problem = status.error().message;
      fmt::print(stderr, "terrace: a conversation is not kept on disk: {}\n", last_problem);
    }
    lock.lock();
    writing_ = false;
    if (waiting_.empty()) idle_.notify_all();
  }
}

Status CacheFiles::write(const engine::Checkpoint& checkpoint) {
  Entry entry{hash_name(std::as_bytes(std::span(checkpoint.tokens))), {}, 0};
  for (const memory::KvPage& page : checkpoint.pages) {
    const std::span bytes(page.get(), limits_.page_bytes);
    entry.pages.push_back(hash_name(bytes));
    if (std::error_code ignored; fs::exists(page_path(entry.pages.back()), ignored)) continue;
    TERRACE_TRY(auto file, OutputFile::create(page_path(entry.pages.back())));
    TERRACE_CHECK(file.write(bytes));
    TERRACE_CHECK(file.commit());
  }
  const std::string text = encode_record(checkpoint, entry.pages, fingerprint_, limits_);
  TERRACE_TRY(auto file, OutputFile::create(entry_path(entry.name)));
  TERRACE_CHECK(file.write(text));
  TERRACE_CHECK(file.commit());
  entry.bytes = text.size();
  const std::lock_guard lock(mutex_);
  add(std::move(entry));
  while (bytes_ > limit_ && !entries_.empty()) drop_oldest();
  return Done{};
}

/// Takes an entry, whose files are there, into account; one of the same name is younger now.
void CacheFiles::add(Entry entry) {
  for (const Hash& page : entry.pages) {
    if (pages_[page]++ == 0) bytes_ += limits_.page_bytes;
  }
  bytes_ += entry.bytes;
  const auto same =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == entry.name; });
  const bool again = same != entries_.end();
  entries_.push_back(std::move(entry));
  if (!again) return;
  // Its file is the new one's by now; only the shares of the old pages go.
  entries_.splice(entries_.begin(), entries_, same);
  drop_oldest();
}

void CacheFiles::forget(const Hash& name) {
  const auto entry = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == name; });
  entries_.splice(entries_.begin(), entries_, entry);
  drop_oldest();
}

void CacheFiles::drop_oldest() {
  const Entry entry = std::move(entries_.front());
  entries_.pop_front();
  std::error_code ignored;
  const bool replaced =
      std::any_of(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.name == entry.name; });
  if (!replaced) fs::remove(entry_path(entry.name), ignored);
  bytes_ -= entry.bytes;
  for (const Hash& page : entry.pages) {
    const auto found = pages_.find(page);
    if (--found->second > 0) continue;
    bytes_ -= limits_.page_bytes;
    pages_.erase(found);
    fs::remove(page_path(page), ignored);
  }
}

}  // namespace terrace::serve
