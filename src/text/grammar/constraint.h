// Which tokens may come next under a grammar.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "text/grammar/grammar.h"
#include "text/grammar/token_vocabulary.h"

namespace terrace::text {

class StateTable;

/// A grammar for one vocabulary, with what its constraints have learned about it: the first token in a new state costs
/// a walk over the vocabulary, later ones a look-up. Any thread may use it and the constraints made from it.
class CompiledGrammar {
 public:
  /// Learned things are dropped when they take more than `memo_bytes`.
  CompiledGrammar(Grammar grammar, std::shared_ptr<const TokenVocabulary> vocabulary, size_t memo_bytes = 64 << 20);

  const TokenVocabulary& vocabulary() const { return *vocabulary_; }

 private:
  friend class Constraint;
  std::shared_ptr<StateTable> table() const;

  Grammar grammar_;
  std::shared_ptr<const TokenVocabulary> vocabulary_;
  size_t memo_bytes_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<StateTable> table_;
};

/// The place of one sequence in a grammar. Cheap to copy; one thread at a time.
class Constraint {
 public:
  explicit Constraint(std::shared_ptr<const CompiledGrammar> grammar);

  /// A bit per token id, lowest first: it may come next. Tokens that end a generation may come where the text may end,
  /// and where nothing else may. Valid until the next call of a method that is not const.
  std::span<const uint64_t> mask();
  bool allows(int32_t token);

  /// Goes on by the token; false, and nothing happened, if it may not come next.
  bool accept(int32_t token);
  /// Goes on by bytes that no token wrote, such as the beginning of an answer that was given; false, and nothing
  /// happened, if they may not come next.
  bool accept_text(std::string_view bytes);

  /// The text so far is complete.
  bool can_end();
  /// Nothing but the end may come: the grammar is at its end, or no token writes what it asks for.
  bool must_end();
  /// A token that ends a generation was accepted.
  bool ended() const { return ended_; }

 private:
  std::unique_lock<std::mutex> lock_table();
  bool follow(std::string_view bytes, uint32_t symbols);

  std::shared_ptr<const CompiledGrammar> grammar_;
  std::shared_ptr<StateTable> table_;
  uint32_t state_ = 0;
  bool ended_ = false;
};

}  // namespace terrace::text
