#include "serve/grammar_store.h"

#include <algorithm>

namespace terrace::serve {

std::shared_ptr<const text::CompiledGrammar> GrammarStore::find(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.key == key; });
  if (found == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found);
  return entries_.front().grammar;
}

void GrammarStore::put(std::string key, std::shared_ptr<const text::CompiledGrammar> grammar) {
  const std::lock_guard lock(mutex_);
  entries_.push_front({std::move(key), std::move(grammar)});
  if (entries_.size() > kMost) entries_.pop_back();
}

}  // namespace terrace::serve
