// Conversations that can be continued without reading them again: checkpoints, found by their tokens, bounded in bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "engine/sequence.h"

namespace terrace::engine {

/// How many tokens two lists begin with alike.
size_t common_length(std::span<const int32_t> a, std::span<const int32_t> b);

/// A prefix tree over tokens: ordered by them, checkpoints that begin alike are neighbours. Pages that several
/// checkpoints share count once. Not thread-safe.
class ConversationCache {
 public:
  /// `recurrent`: checkpoints carry a state and are of use at their own length only. A limit of 0 keeps nothing.
  ConversationCache(size_t limit_bytes, size_t page_bytes, bool recurrent)
      : limit_(limit_bytes), page_bytes_(page_bytes), recurrent_(recurrent) {}

  struct Found {
    std::shared_ptr<const Checkpoint> checkpoint;  ///< null: nothing of use
    size_t length = 0;                             ///< tokens of it to restore
  };
  /// What holds the longest beginning of `tokens`. It and all checkpoints it continues count as used now.
  Found find(std::span<const int32_t> tokens);
  /// The length find() would give, without counting as a use.
  size_t length_of(std::span<const int32_t> tokens) const { return search(tokens).length; }

  /// Keeps a checkpoint, in place of those of the least use. Without recurrent states, checkpoints that it continues
  /// are dropped: it serves in their place. False if it is larger than the limit or has no tokens; nothing is dropped
  /// for it then.
  bool insert(Checkpoint checkpoint);

  /// The checkpoints that `tokens` begin with, the shortest first.
  std::vector<std::shared_ptr<const Checkpoint>> beginnings(std::span<const int32_t> tokens) const;
  /// Drops the checkpoint of exactly these tokens: false if there is none.
  bool erase(std::span<const int32_t> tokens);

  /// `kept` is told of each checkpoint that insert() takes from now on.
  void on_insert(std::function<void(std::shared_ptr<const Checkpoint>)> kept) { kept_ = std::move(kept); }

  size_t bytes() const { return bytes_; }  ///< at most limit()
  size_t limit() const { return limit_; }
  size_t size() const { return entries_.size(); }

 private:
  struct Entry {
    std::shared_ptr<const Checkpoint> checkpoint;
    uint64_t used = 0;  ///< the time of the last use; of equals the longest is of the least use
  };
  struct Before {
    bool operator()(std::span<const int32_t> a, std::span<const int32_t> b) const;
  };
  using Entries = std::map<std::span<const int32_t>, Entry, Before>;  // the keys lie in the checkpoints

  Found search(std::span<const int32_t> tokens) const;
  /// The longest entry that is a beginning of `tokens`, or end().
  Entries::const_iterator longest_beginning(std::span<const int32_t> tokens) const;
  void touch(std::span<const int32_t> tokens);
  size_t own_bytes(const Checkpoint& checkpoint) const;
  size_t bytes_with(const Checkpoint& checkpoint) const;
  void count(const Checkpoint& checkpoint);
  void erase(Entries::const_iterator entry);
  void drop_least_useful();

  size_t limit_, page_bytes_;
  bool recurrent_;
  Entries entries_;
  std::unordered_map<const std::byte*, uint32_t> pages_;  ///< how many entries share each
  size_t bytes_ = 0;
  uint64_t clock_ = 0;
  std::function<void(std::shared_ptr<const Checkpoint>)> kept_;
};

}  // namespace terrace::engine
