// The merges of a byte pair encoding, as a hash table over pairs of symbols.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace terrace::text {

/// Pair of symbols -> (rank, merged symbol). Constant after the last add(); find() and apply() may run in any thread.
class MergeTable {
 public:
  struct Merge {
    uint32_t rank = 0;
    int32_t merged = 0;
  };

  explicit MergeTable(size_t capacity);

  /// The first merge added for a pair stays. REQUIRES: at most `capacity` calls; symbols are not negative.
  void add(int32_t left, int32_t right, Merge merge);
  const Merge* find(int32_t left, int32_t right) const {
    if ((left | right) < 0) return nullptr;
    const uint64_t key = pair_key(left, right);
    for (size_t i = slot_of(key);; i = (i + 1) & (slots_.size() - 1)) {
      if (slots_[i].key == key) return &slots_[i].merge;
      if (slots_[i].key == no_pair) return nullptr;
    }
  }

  /// Merges `symbols[first..]` in place until no pair is left: lowest rank first, leftmost first among equals.
  /// Negative symbols never merge. O(n log n) in the number of symbols.
  void apply(std::vector<int32_t>& symbols, size_t first) const;

 private:
  static constexpr uint64_t no_pair = ~uint64_t{0};
  struct Slot {
    uint64_t key = no_pair;
    Merge merge;
  };

  static uint64_t pair_key(int32_t left, int32_t right) {
    return uint64_t{static_cast<uint32_t>(left)} << 32 | static_cast<uint32_t>(right);
  }
  size_t slot_of(uint64_t key) const { return (key * 0x9E3779B97F4A7C15u) >> shift_; }
  size_t apply_short(int32_t* symbols, size_t count) const;
  size_t apply_long(int32_t* symbols, size_t count) const;

  std::vector<Slot> slots_;
  int shift_ = 0;
};

}  // namespace terrace::text
