// A conversation in memory, and points of it to go back to or to branch from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "memory/kv_pool.h"

namespace terrace::engine {

/// A point of a sequence where any sequence of the same engine can begin: its tokens, shares of its pages, and a copy
/// of what recurrent layers made of the tokens.
struct Checkpoint {
  std::vector<int32_t> tokens;
  std::vector<memory::KvPage> pages;
  Buffer state;  ///< empty before the first step, and where a model has no recurrent layers
};

/// A conversation in memory: its tokens, the pages of their keys and values, and the state of recurrent layers.
/// Pages may be shared with checkpoints and other sequences: before a shared one is written it is copied.
class Sequence {
 public:
  const std::vector<int32_t>& tokens() const { return tokens_; }
  size_t size() const { return tokens_.size(); }
  /// Forgets the tokens from `length` on and returns how many remain: recurrent layers cannot go back, so a sequence of
  /// a model that has them forgets all, unless `length` is its size.
  size_t truncate(size_t length);
  Checkpoint checkpoint() const;
  /// Becomes what the checkpoint says, or its first `length` tokens if it has no recurrent state.
  void restore(const Checkpoint& checkpoint, size_t length = SIZE_MAX);

 private:
  friend class Engine;
  /// Room for positions up to `length`, of which those from `first` on can be written.
  void reserve(memory::KvPool& pool, size_t state_bytes, size_t first, size_t length);
  void shorten(size_t length);

  std::vector<int32_t> tokens_;
  Buffer state_;  // zeros at first
  std::vector<memory::KvPage> pages_;
  std::vector<std::byte*> page_table_;
};

}  // namespace terrace::engine
