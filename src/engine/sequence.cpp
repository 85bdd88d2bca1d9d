#include "engine/sequence.h"

#include <algorithm>
#include <cstring>

#include "compute/cpu/kernels/kernels.h"

namespace terrace::engine {
namespace {

constexpr size_t kPage = compute::kAttentionBlock;

size_t pages_of(size_t positions) { return (positions + kPage - 1) / kPage; }

}  // namespace

void Sequence::shorten(size_t length) {
  tokens_.resize(length);
  pages_.resize(pages_of(length));
  page_table_.resize(pages_.size());
}

size_t Sequence::truncate(size_t length) {
  if (length >= tokens_.size()) return tokens_.size();
  if (state_.size() > 0) {
    length = 0;
    std::fill_n(state_.data(), state_.size(), std::byte{0});
  }
  shorten(length);
  return length;
}

Checkpoint Sequence::checkpoint() const {
  Checkpoint checkpoint{tokens_, {pages_.begin(), pages_.begin() + static_cast<ptrdiff_t>(pages_of(size()))}, {}};
  if (state_.size() > 0) {
    checkpoint.state = Buffer(state_.size(), Purpose::states);
    std::copy_n(state_.data(), state_.size(), checkpoint.state.data());
  }
  return checkpoint;
}

void Sequence::restore(const Checkpoint& checkpoint, size_t length) {
  length = std::min(length, checkpoint.tokens.size());
  if (checkpoint.state.size() > 0) length = checkpoint.tokens.size();
  tokens_.assign(checkpoint.tokens.begin(), checkpoint.tokens.begin() + static_cast<ptrdiff_t>(length));
  pages_.assign(checkpoint.pages.begin(), checkpoint.pages.begin() + static_cast<ptrdiff_t>(pages_of(length)));
  page_table_.clear();
  for (const memory::KvPage& page : pages_) page_table_.push_back(page.get());
  if (state_.size() < checkpoint.state.size()) state_ = Buffer(checkpoint.state.size(), Purpose::states);
  // A checkpoint from before the first step has no state yet.
  std::byte* const rest = std::copy_n(checkpoint.state.data(), checkpoint.state.size(), state_.data());
  std::fill(rest, state_.data() + state_.size(), std::byte{0});
}

void Sequence::reserve(memory::KvPool& pool, size_t state_bytes, size_t first, size_t length) {
  if (state_.size() < state_bytes) state_ = Buffer(state_bytes, Purpose::states);
  for (size_t p = first / kPage; p < pages_.size(); ++p) {
    // Others only drop their references while this thread looks, which at worst copies once too often.
    if (pages_[p].use_count() == 1) continue;
    memory::KvPage copy = pool.allocate();
    std::memcpy(copy.get(), pages_[p].get(), pool.page_bytes());
    pages_[p] = std::move(copy);
    page_table_[p] = pages_[p].get();
  }
  while (pages_.size() < pages_of(length)) {
    pages_.push_back(pool.allocate());
    page_table_.push_back(pages_.back().get());
  }
}

}  // namespace terrace::engine
