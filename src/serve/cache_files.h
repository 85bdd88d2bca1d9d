// Conversations on disk, so that a restarted server need not read them again.
#pragma once

#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "serve/checkpoint_record.h"

namespace terrace::serve {

/// A folder with a file per checkpoint and one per KV page. Pages are named by their contents, so checkpoints share
/// them, and each file appears whole or not at all. All that is read is checked; what is broken or of another model is
/// dropped. The oldest checkpoints go when the folder is larger than its limit. One process at a time uses a folder.
class CacheFiles {
 public:
  static Result<std::unique_ptr<CacheFiles>> open(const std::string& folder, size_t limit_bytes,
                                                  Fingerprint fingerprint, const RecordLimits& limits);
  /// Writes what is still waiting.
  ~CacheFiles();

  /// The checkpoints of this fingerprint, the oldest first, until they have `most_bytes` together from the newest on.
  std::vector<engine::Checkpoint> load(engine::Engine& engine, size_t most_bytes);
  /// Writes it in the background. When the disk cannot keep up, the oldest that wait are dropped.
  void save(std::shared_ptr<const engine::Checkpoint> checkpoint);
  /// Returns when nothing waits.
  void flush();
  size_t bytes() const;

 private:
  using Hash = std::string;  ///< as a file is named
  struct Entry {
    Hash name;
    std::vector<Hash> pages;
    size_t bytes = 0;  ///< of its own file
  };
  CacheFiles(std::string folder, size_t limit, Fingerprint fingerprint, const RecordLimits& limits);

  std::string entry_path(const Hash& name) const { return folder_ + "/" + name + ".conversation"; }
  std::string page_path(const Hash& name) const { return folder_ + "/" + name + ".page"; }
  Status lock();
  void index();
  Result<CheckpointRecord> read(const Hash& name) const;
  Status read_pages(CheckpointRecord& record, engine::Engine& engine,
                    std::unordered_map<Hash, memory::KvPage>& known) const;
  void run();
  Status write(const engine::Checkpoint& checkpoint);
  void add(Entry entry);
  void forget(const Hash& name);
  void drop_oldest();

  std::string folder_;
  size_t limit_;
  Fingerprint fingerprint_;
  RecordLimits limits_;
  int lock_ = -1;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable news_, idle_;
  std::deque<std::shared_ptr<const engine::Checkpoint>> waiting_;
  bool writing_ = false, stopping_ = false;
  std::list<Entry> entries_;                // the oldest first
  std::unordered_map<Hash, size_t> pages_;  // how many entries share each
  size_t bytes_ = 0;

  std::thread thread_;
};

}  // namespace terrace::serve
