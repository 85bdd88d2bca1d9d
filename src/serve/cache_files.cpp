#include "serve/cache_files.h"

#define XXH_INLINE_ALL
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>
#include <xxhash.h>

#include <algorithm>
#include <cstring>
#include <filesystem>

#include "base/file.h"

namespace terrace::serve {
namespace {

namespace fs = std::filesystem;

constexpr char kMagic[8] = {'t', 'e', 'r', 'r', 'a', 'c', 'e', '1'};
constexpr size_t kMostWaiting = 32;

/// The beginning of a checkpoint's file. Tokens, the hashes of pages (32 characters each), the state and the hash of
/// all that (16 bytes) follow.
struct Header {
  char magic[8];
  Fingerprint fingerprint;
  uint64_t tokens, pages, page_bytes, state_bytes;
};
constexpr size_t kHash = 32, kSum = 16;

std::string name_of(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }

std::string hash_of(std::span<const std::byte> bytes) { return name_of(XXH3_128bits(bytes.data(), bytes.size())); }

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

}  // namespace

Result<Fingerprint> fingerprint_of(const std::string& model_path, const engine::EngineOptions& options,
                                   const engine::Engine& engine, const std::string& version) {
  constexpr size_t kBeginning = size_t{4} << 20, kSamples = 256, kSample = 4096;
  TERRACE_TRY(const auto file, MappedFile::open(model_path));
  const auto bytes = file.bytes();
  XXH3_state_t* state = XXH3_createState();
  XXH3_128bits_reset(state);
  const auto add = [&](const void* data, size_t size) { XXH3_128bits_update(state, data, size); };
  const auto beginning = bytes.first(std::min(bytes.size(), kBeginning));
  add(beginning.data(), beginning.size());
  for (size_t i = 0; i < kSamples && bytes.size() > kSample; ++i)
    add(bytes.data() + (bytes.size() - kSample) / kSamples * i, kSample);
  std::error_code ignored;
  const auto time = fs::last_write_time(model_path, ignored).time_since_epoch().count();
  const std::string rest = fmt::format("{} {} {} {} {} {} {} {}", bytes.size(), time, engine.file_bytes(), version,
                                       options.numeric == engine::Numeric::reference, options.half_kv, options.context,
                                       engine.info().page_bytes);
  add(rest.data(), rest.size());
  const XXH128_hash_t hash = XXH3_128bits_digest(state);
  XXH3_freeState(state);
  return Fingerprint{hash.low64, hash.high64};
}

CacheFiles::CacheFiles(std::string folder, size_t limit, Fingerprint fingerprint, size_t page_bytes)
    : folder_(std::move(folder)), limit_(limit), fingerprint_(fingerprint), page_bytes_(page_bytes) {}

Result<std::unique_ptr<CacheFiles>> CacheFiles::open(const std::string& folder, size_t limit_bytes,
                                                     Fingerprint fingerprint, size_t page_bytes) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return fail("{}: cannot be made: {}", folder, error.message());
  std::unique_ptr<CacheFiles> files(new CacheFiles(folder, limit_bytes, fingerprint, page_bytes));
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
  std::unordered_map<Hash, memory::KvPage> none;
  for (const auto& [time, name] : found) {
    Entry entry{name, {}, fs::file_size(entry_path(name), ignored)};
    const auto checkpoint = read(name, entry.pages, nullptr, none);
    if (!checkpoint) {
      fmt::print(stderr, "terrace: {} is dropped: {}\n", entry_path(name), checkpoint.error().message);
      fs::remove(entry_path(name), ignored);
      continue;
    }
    add(std::move(entry));
  }
  for (const fs::path& page : pages) {
    if (!pages_.contains(page.stem().string())) fs::remove(page, ignored);
  }
}

/// Reads a checkpoint's file, and with an engine its pages as well.
Result<engine::Checkpoint> CacheFiles::read(const Hash& name, std::vector<Hash>& pages, engine::Engine* engine,
                                            std::unordered_map<Hash, memory::KvPage>& known) const {
  TERRACE_TRY(const std::string text, read_text(entry_path(name), size_t{8} << 30));
  Header header;
  if (text.size() < sizeof header + kSum) return fail("it is too short");
  std::memcpy(&header, text.data(), sizeof header);
  const size_t rest = text.size() - sizeof header - kSum;
  if (std::memcmp(header.magic, kMagic, sizeof kMagic) != 0) return fail("it is no file of this program");
  if (header.fingerprint != fingerprint_) return fail("it is of another model, profile or version");
  if (header.page_bytes != page_bytes_ || header.tokens > rest / 4 || header.pages > rest / kHash ||
      header.state_bytes > rest || header.tokens * 4 + header.pages * kHash + header.state_bytes != rest)
    return fail("its sizes do not add up");
  const XXH128_hash_t sum = XXH3_128bits(text.data(), text.size() - kSum);
  if (std::memcmp(&sum, text.data() + text.size() - kSum, kSum) != 0) return fail("its checksum is wrong");
  engine::Checkpoint checkpoint;
  const char* from = text.data() + sizeof header;
  checkpoint.tokens.resize(header.tokens);
  std::memcpy(checkpoint.tokens.data(), from, header.tokens * 4);
  from += header.tokens * 4;
  for (uint64_t i = 0; i < header.pages; ++i, from += kHash) pages.emplace_back(from, kHash);
  if (header.state_bytes > 0) {
    checkpoint.state = Buffer(header.state_bytes, Purpose::states);
    std::memcpy(checkpoint.state.data(), from, header.state_bytes);
  }
  for (size_t i = 0; engine && i < pages.size(); ++i) {
    memory::KvPage& page = known[pages[i]];
    if (!page) {
      TERRACE_TRY(const std::string bytes, read_text(page_path(pages[i]), page_bytes_));
      if (bytes.size() != page_bytes_ || hash_of(std::as_bytes(std::span(bytes.data(), bytes.size()))) != pages[i]) {
        std::error_code ignored;
        fs::remove(page_path(pages[i]), ignored);  // or it would be taken for written
        return fail("its page {} is broken", page_path(pages[i]));
      }
      page = engine->new_page();
      std::memcpy(page.get(), bytes.data(), bytes.size());
    }
    checkpoint.pages.push_back(page);
  }
  return checkpoint;
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
    std::vector<Hash> pages;
    const size_t before = known.size();
    auto checkpoint = read(*name, pages, &engine, known);
    if (!checkpoint) {
      fmt::print(stderr, "terrace: {} is dropped: {}\n", entry_path(*name), checkpoint.error().message);
      const std::lock_guard lock(mutex_);
      forget(*name);
      continue;
    }
    bytes += checkpoint->state.size() + (known.size() - before) * page_bytes_;
    loaded.push_back(*std::move(checkpoint));
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
  Entry entry{hash_of(bytes_of(checkpoint.tokens)), {}, 0};
  for (const memory::KvPage& page : checkpoint.pages) {
    const std::span bytes(page.get(), page_bytes_);
    entry.pages.push_back(hash_of(bytes));
    if (std::error_code ignored; fs::exists(page_path(entry.pages.back()), ignored)) continue;
    TERRACE_TRY(auto file, OutputFile::create(page_path(entry.pages.back())));
    TERRACE_CHECK(file.write(bytes));
    TERRACE_CHECK(file.commit());
  }
  Header header{{}, fingerprint_, checkpoint.tokens.size(), entry.pages.size(), page_bytes_, checkpoint.state.size()};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  std::string text(reinterpret_cast<const char*>(&header), sizeof header);
  text.append(reinterpret_cast<const char*>(checkpoint.tokens.data()), checkpoint.tokens.size() * 4);
  for (const Hash& page : entry.pages) text += page;
  text.append(reinterpret_cast<const char*>(checkpoint.state.data()), checkpoint.state.size());
  const XXH128_hash_t sum = XXH3_128bits(text.data(), text.size());
  text.append(reinterpret_cast<const char*>(&sum), kSum);
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
    if (pages_[page]++ == 0) bytes_ += page_bytes_;
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
    bytes_ -= page_bytes_;
    pages_.erase(found);
    fs::remove(page_path(page), ignored);
  }
}

}  // namespace terrace::serve
