#include "text/merge_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <queue>

namespace terrace::text {
namespace {

// Up to here a scan over all pairs beats a heap.
constexpr size_t short_word = 40;
constexpr uint32_t no_rank = ~uint32_t{0};

}  // namespace

MergeTable::MergeTable(size_t capacity) : slots_(std::bit_ceil(std::max<size_t>(capacity, 8) * 2)) {
  shift_ = 64 - std::countr_zero(slots_.size());
}

void MergeTable::add(int32_t left, int32_t right, Merge merge) {
  const uint64_t key = pair_key(left, right);
  size_t i = slot_of(key);
  while (slots_[i].key != no_pair) {
    if (slots_[i].key == key) return;
    i = (i + 1) & (slots_.size() - 1);
  }
  slots_[i] = {key, merge};
}

void MergeTable::apply(std::vector<int32_t>& symbols, size_t first) const {
  const size_t count = symbols.size() - first;
  if (count < 2) return;
  int32_t* begin = symbols.data() + first;
  symbols.resize(first + (count <= short_word ? apply_short(begin, count) : apply_long(begin, count)));
}

size_t MergeTable::apply_short(int32_t* symbols, size_t count) const {
  std::array<Merge, short_word> pairs;
  const auto look_up = [&](size_t i) {
    const Merge* merge = find(symbols[i], symbols[i + 1]);
    pairs[i] = merge ? *merge : Merge{no_rank, 0};
  };
  for (size_t i = 0; i + 1 < count; ++i) look_up(i);
  while (count > 1) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i)
      if (pairs[i].rank < pairs[best].rank) best = i;
    if (pairs[best].rank == no_rank) break;
    symbols[best] = pairs[best].merged;
    std::copy(symbols + best + 2, symbols + count, symbols + best + 1);
    --count;
    for (size_t i = best + 1; i + 1 < count; ++i) pairs[i] = pairs[i + 1];
    if (best > 0) look_up(best - 1);
    if (best + 1 < count) look_up(best);
  }
  return count;
}

size_t MergeTable::apply_long(int32_t* symbols, size_t count) const {
  struct Candidate {
    uint32_t rank;
    size_t position;
    int32_t left, right, merged;
    bool operator<(const Candidate& other) const {
      return rank != other.rank ? rank > other.rank : position > other.position;
    }
  };
  constexpr size_t none = ~size_t{0};
  constexpr int32_t gone = -2;
  std::vector<size_t> next(count);
  std::vector<size_t> previous(count);
  for (size_t i = 0; i < count; ++i) {
    next[i] = i + 1 < count ? i + 1 : none;
    previous[i] = i > 0 ? i - 1 : none;
  }
  std::vector<Candidate> storage;
  storage.reserve(count);
  const auto candidate = [&](size_t i, auto&& add) {
    if (i == none || next[i] == none) return;
    const int32_t right = symbols[next[i]];
    if (const Merge* merge = find(symbols[i], right)) add(Candidate{merge->rank, i, symbols[i], right, merge->merged});
  };
  for (size_t i = 0; i < count; ++i) candidate(i, [&](const Candidate& c) { storage.push_back(c); });
  std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(storage));
  while (!queue.empty()) {
    const Candidate top = queue.top();
    queue.pop();
    const size_t left = top.position;
    const size_t right = next[left];
    // A candidate is stale when one of its symbols was merged meanwhile.
    if (symbols[left] != top.left || right == none || symbols[right] != top.right) continue;
    symbols[left] = top.merged;
    symbols[right] = gone;
    next[left] = next[right];
    if (next[left] != none) previous[next[left]] = left;
    const auto push = [&](const Candidate& c) { queue.push(c); };
    candidate(previous[left], push);
    candidate(left, push);
  }
  size_t kept = 0;
  for (size_t i = 0; i != none; i = next[i]) symbols[kept++] = symbols[i];
  return kept;
}

}  // namespace terrace::text
