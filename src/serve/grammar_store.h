// Grammars of past requests, which know the vocabulary by now: clients send the same schemas again and again.
#pragma once

#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "text/grammar/constraint.h"

namespace terrace::serve {

/// The last few, by the text they were made from. Thread-safe.
class GrammarStore {
 public:
  std::shared_ptr<const text::CompiledGrammar> find(const std::string& key);
  void put(std::string key, std::shared_ptr<const text::CompiledGrammar> grammar);

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const text::CompiledGrammar> grammar;
  };
  static constexpr size_t kMost = 16;

  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
};

}  // namespace terrace::serve
