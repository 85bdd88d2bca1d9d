#include "engine/conversation_cache.h"

#include <algorithm>

namespace terrace::engine {
namespace {

using Tokens = std::span<const int32_t>;

}  // namespace

size_t common_length(Tokens a, Tokens b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

bool ConversationCache::Before::operator()(Tokens a, Tokens b) const {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

ConversationCache::Entries::const_iterator ConversationCache::longest_beginning(Tokens tokens) const {
  for (;;) {
    auto entry = entries_.upper_bound(tokens);
    if (entry == entries_.begin()) return entries_.end();
    --entry;
    const size_t common = common_length(entry->first, tokens);
    if (common == entry->first.size()) return entry;
    // Whatever begins `tokens` is no longer than what it has in common with its neighbour.
    tokens = tokens.first(common);
  }
}

ConversationCache::Found ConversationCache::search(Tokens tokens) const {
  Found found;
  if (recurrent_) {
    const auto entry = longest_beginning(tokens);
    if (entry != entries_.end()) found = {entry->second.checkpoint, entry->first.size()};
    return found;
  }
  // The entry with the longest common beginning is a neighbour of where `tokens` would stand.
  const auto after = entries_.lower_bound(tokens);
  const auto consider = [&](Entries::const_iterator entry) {
    const size_t common = common_length(entry->first, tokens);
    if (common > found.length) found = {entry->second.checkpoint, common};
  };
  if (after != entries_.end()) consider(after);
  if (after != entries_.begin()) consider(std::prev(after));
  return found;
}

ConversationCache::Found ConversationCache::find(Tokens tokens) {
  Found found = search(tokens);
  if (found.checkpoint) touch(found.checkpoint->tokens);
  return found;
}

void ConversationCache::touch(Tokens tokens) {
  ++clock_;
  for (auto entry = longest_beginning(tokens); entry != entries_.end();
       entry = longest_beginning(tokens.first(entry->first.size() - 1))) {
    entries_.find(entry->first)->second.used = clock_;
  }
}

size_t ConversationCache::own_bytes(const Checkpoint& checkpoint) const {
  return sizeof(Checkpoint) + checkpoint.state.size() + checkpoint.tokens.size() * sizeof(int32_t) +
         checkpoint.pages.size() * sizeof(memory::KvPage);
}

size_t ConversationCache::bytes_with(const Checkpoint& checkpoint) const {
  const auto fresh = std::count_if(checkpoint.pages.begin(), checkpoint.pages.end(),
                                   [&](const memory::KvPage& page) { return !pages_.contains(page.get()); });
  return bytes_ + own_bytes(checkpoint) + static_cast<size_t>(fresh) * page_bytes_;
}

void ConversationCache::count(const Checkpoint& checkpoint) {
  bytes_ = bytes_with(checkpoint);
  for (const memory::KvPage& page : checkpoint.pages) ++pages_[page.get()];
}

void ConversationCache::erase(Entries::const_iterator entry) {
  const auto checkpoint = entry->second.checkpoint;  // the key lies in it
  entries_.erase(entry);
  bytes_ -= own_bytes(*checkpoint);
  for (const memory::KvPage& page : checkpoint->pages) {
    const auto shares = pages_.find(page.get());
    if (--shares->second > 0) continue;
    pages_.erase(shares);
    bytes_ -= page_bytes_;
  }
}

std::vector<std::shared_ptr<const Checkpoint>> ConversationCache::beginnings(Tokens tokens) const {
  std::vector<std::shared_ptr<const Checkpoint>> found;
  for (auto entry = longest_beginning(tokens); entry != entries_.end();
       entry = longest_beginning(tokens.first(entry->first.size() - 1)))
    found.push_back(entry->second.checkpoint);
  std::reverse(found.begin(), found.end());
  return found;
}

bool ConversationCache::erase(Tokens tokens) {
  const auto entry = entries_.find(tokens);
  if (entry == entries_.end()) return false;
  erase(entry);
  return true;
}

void ConversationCache::drop_least_useful() {
  const auto less_useful = [](const auto& a, const auto& b) {
    return a.second.used != b.second.used ? a.second.used < b.second.used : a.first.size() > b.first.size();
  };
  erase(std::min_element(entries_.begin(), entries_.end(), less_useful));
}

bool ConversationCache::insert(Checkpoint checkpoint) {
  const size_t alone = own_bytes(checkpoint) + checkpoint.pages.size() * page_bytes_;
  if (checkpoint.tokens.empty() || alone > limit_) return false;
  auto kept = std::make_shared<const Checkpoint>(std::move(checkpoint));
  const Tokens tokens = kept->tokens;
  touch(tokens);
  if (entries_.contains(tokens)) return true;
  if (!recurrent_) {
    if (search(tokens).length == tokens.size()) return true;  // a longer one serves already
    for (auto entry = longest_beginning(tokens); entry != entries_.end(); entry = longest_beginning(tokens))
      erase(entry);
  }
  while (bytes_with(*kept) > limit_) drop_least_useful();
  count(*kept);
  entries_.emplace(tokens, Entry{kept, clock_});
  if (kept_) kept_(kept);
  return true;
}

}  // namespace terrace::engine
