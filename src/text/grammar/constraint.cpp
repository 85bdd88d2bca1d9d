#include "text/grammar/constraint.h"

#include <algorithm>

#include "text/grammar/state_table.h"

namespace terrace::text {
namespace {

// Less would not hold a few masks of a large vocabulary.
constexpr size_t kMinMemoBytes = 4 << 20;

}  // namespace

CompiledGrammar::CompiledGrammar(Grammar grammar, std::shared_ptr<const TokenVocabulary> vocabulary, size_t memo_bytes)
    : grammar_(std::move(grammar)),
      vocabulary_(std::move(vocabulary)),
      memo_bytes_(std::max(memo_bytes, kMinMemoBytes)),
      table_(std::make_shared<StateTable>(grammar_, vocabulary_, memo_bytes_)) {}

// The table in use. A full one stays with the constraints that have it until they take the new one.
std::shared_ptr<StateTable> CompiledGrammar::table() const {
  const std::lock_guard lock(mutex_);
  const std::shared_ptr<StateTable> current = table_;
  const std::lock_guard table_lock(current->mutex());
  if (current->is_full()) table_ = std::make_shared<StateTable>(grammar_, vocabulary_, memo_bytes_);
  return table_;
}

Constraint::Constraint(std::shared_ptr<const CompiledGrammar> grammar)
    : grammar_(std::move(grammar)), table_(grammar_->table()), state_(table_->start()) {}

std::unique_lock<std::mutex> Constraint::lock_table() {
  std::unique_lock lock(table_->mutex());
  if (!table_->is_full()) return lock;
  lock.unlock();
  const auto fresh = grammar_->table();
  if (fresh != table_) {
    const std::scoped_lock both(table_->mutex(), fresh->mutex());
    state_ = fresh->import(*table_, state_);
  }
  table_ = fresh;
  return std::unique_lock(table_->mutex());
}

std::span<const uint64_t> Constraint::mask() {
  const auto lock = lock_table();
  return table_->mask(ended_ ? StateTable::kEnded : state_).words;
}

bool Constraint::allows(int32_t token) {
  if (token < 0 || static_cast<size_t>(token) >= grammar_->vocabulary().size()) return false;
  const auto id = static_cast<size_t>(token);
  return mask()[id / 64] >> (id % 64) & 1;
}

bool Constraint::accept(int32_t token) {
  if (ended_ || token < 0 || static_cast<size_t>(token) >= grammar_->vocabulary().size()) return false;
  const TokenVocabulary::Token& known = grammar_->vocabulary().token(static_cast<size_t>(token));
  const auto lock = lock_table();
  if (!known.bytes.empty() && follow(known.bytes, known.control ? Automaton::kControl : 0)) return true;
  if (!known.end || !(table_->can_end(state_) || table_->mask(state_).only_end)) return false;
  ended_ = true;
  return true;
}

bool Constraint::accept_text(std::string_view bytes) {
  if (ended_) return false;
  const auto lock = lock_table();
  return follow(bytes, 0);
}

bool Constraint::follow(std::string_view bytes, uint32_t symbols) {
  uint32_t state = state_;
  for (const char c : bytes) {
    state = table_->step(state, static_cast<uint16_t>(static_cast<uint8_t>(c) + symbols));
    if (state == StateTable::kDead) return false;
  }
  state_ = state;
  return true;
}

bool Constraint::can_end() {
  const auto lock = lock_table();
  return table_->can_end(state_);
}

bool Constraint::must_end() {
  const auto lock = lock_table();
  return ended_ || table_->mask(state_).only_end;
}

}  // namespace terrace::text
