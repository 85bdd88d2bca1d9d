// The states that a grammar's automaton has been in, the steps between them, and what may come next in each.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "text/grammar/automaton.h"
#include "text/grammar/grammar.h"
#include "text/grammar/token_vocabulary.h"

namespace terrace::text {

/// A state is a set of stacks: for each automaton state on top, the set of stacks that may be below it. Equal sets have
/// equal ids, so steps and masks are remembered by id, and an ambiguous grammar cannot have more stacks than states.
///
/// Not thread-safe: hold mutex() during each call. It only grows; who uses it takes a new one when it is_full().
class StateTable {
 public:
  using Id = uint32_t;
  static constexpr Id kDead = 0;   ///< no stack: nothing may follow, not even the end
  static constexpr Id kEnded = 1;  ///< the empty stack only: nothing may follow but the end

  /// `bytes`: is_full() at this size. What a step would add far beyond it is refused: the step is kDead.
  StateTable(Grammar grammar, std::shared_ptr<const TokenVocabulary> vocabulary, size_t bytes);

  std::mutex& mutex() { return mutex_; }
  bool is_full() const { return bytes_ > limit_; }

  Id start() const { return start_; }
  Id step(Id from, uint16_t symbol) {
    const uint16_t symbol_class = automaton_.class_of[symbol];
    if (const Id* row = rows_[from].get(); row && row[symbol_class] != kUnknown) return row[symbol_class];
    return new_step(from, symbol_class);
  }
  bool can_end(Id state) const { return states_[state].can_end; }

  struct Mask {
    std::vector<uint64_t> words;  ///< a bit per token, including those that end, where they may come
    bool only_end = false;        ///< nothing but the end may come
  };
  /// Stays where it is as long as the table lives.
  const Mask& mask(Id state);

  /// The same state in this table.
  Id import(const StateTable& other, Id state);

 private:
  static constexpr Id kUnknown = UINT32_MAX;
  struct Entry {
    uint32_t top = 0;
    Id below = 0;
    bool operator==(const Entry&) const = default;
  };
  struct State {
    std::vector<Entry> entries;  ///< by top
    bool can_end = false;        ///< one of the stacks is empty
    uint16_t height = 0;         ///< of the highest stack
    bool operator==(const State& other) const { return can_end == other.can_end && entries == other.entries; }
  };
  struct Hash {
    const StateTable* table;
    size_t operator()(Id id) const;
  };
  struct Equal {
    const StateTable* table;
    bool operator()(Id a, Id b) const { return table->states_[a] == table->states_[b]; }
  };
  // What holds for the tops of some stacks, whatever is below them.
  struct Local {
    std::vector<int32_t> tokens;  ///< those that may come without an end of the rule; if they are many:
    std::vector<uint64_t> words;  ///< the same as a mask
    std::vector<uint32_t> exits;  ///< nodes of the vocabulary at which the rule may end, with more tokens below
  };

  Id intern(State state);
  Id single(uint32_t top, Id below);
  Id merge(Id a, Id b);
  Id new_step(Id from, uint16_t symbol_class);
  Id closed(Id state);
  Id import(const StateTable& other, Id state, std::unordered_map<Id, Id>& known);

  void reach(uint32_t state, Id below);
  void follow_ends();
  void follow_calls();
  Id finish_closure(bool can_end);

  const Local& local(Id state);
  template <class Visit>
  void walk(Id from, size_t begin, size_t end, size_t depth, Visit visit);
  static void add_tokens(std::span<const int32_t> tokens, std::vector<uint64_t>& words);

  Grammar grammar_;
  const Automaton& automaton_;
  std::shared_ptr<const TokenVocabulary> vocabulary_;
  std::mutex mutex_;
  size_t limit_;
  size_t bytes_ = 0;
  Id start_ = kDead;

  std::vector<State> states_;
  std::vector<std::unique_ptr<Id[]>> rows_;
  std::unordered_set<Id, Hash, Equal> ids_;
  std::unordered_map<uint64_t, Id> merged_;
  std::unordered_map<Id, Id> closed_;
  std::unordered_map<Id, std::unique_ptr<Local>> locals_;
  std::unordered_map<Id, std::unique_ptr<Mask>> masks_;

  // The closure that is being made: the reached states with what is below them.
  std::vector<Id> below_;  ///< per automaton state, kDead where it is not reached
  std::vector<uint32_t> reached_;
  std::vector<uint32_t> changed_;  ///< those whose stacks below are more than has been followed
  bool can_end_ = false;

  std::vector<Id> path_;
};

}  // namespace terrace::text
