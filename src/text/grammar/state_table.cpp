#include "text/grammar/state_table.h"

#include <algorithm>

namespace terrace::text {
namespace {

// Calls that have not returned: how deep a text may nest. Also bounds the recursion here.
constexpr uint16_t kMaxHeight = 512;

}  // namespace

StateTable::StateTable(Grammar grammar, std::shared_ptr<const TokenVocabulary> vocabulary, size_t bytes)
    : grammar_(std::move(grammar)),
      automaton_(grammar_.automaton()),
      vocabulary_(std::move(vocabulary)),
      limit_(bytes),
      ids_(64, Hash{this}, Equal{this}),
      below_(automaton_.states.size(), kDead),
      path_(vocabulary_->max_depth() + 1) {
  (void)intern({});
  (void)intern({{}, true, 0});
  reach(automaton_.start, kEnded);
  start_ = finish_closure(false);
}

size_t StateTable::Hash::operator()(Id id) const {
  const State& state = table->states_[id];
  uint64_t hash = state.can_end;
  for (const Entry& entry : state.entries) {
    hash = (hash ^ (uint64_t{entry.top} << 32 | entry.below)) * 0x9E3779B97F4A7C15u;
    hash ^= hash >> 29;
  }
  return hash;
}

StateTable::Id StateTable::intern(State state) {
  for (const Entry& entry : state.entries)
    state.height = std::max(state.height, static_cast<uint16_t>(states_[entry.below].height + 1));
  const auto id = static_cast<Id>(states_.size());
  states_.push_back(std::move(state));
  const auto [found, added] = ids_.insert(id);
  if (!added) {
    states_.pop_back();
    return *found;
  }
  rows_.emplace_back();
  bytes_ += 128 + states_.back().entries.size() * sizeof(Entry);
  return id;
}

StateTable::Id StateTable::single(uint32_t top, Id below) { return intern({{{top, below}}, false, 0}); }

// All stacks of both.
StateTable::Id StateTable::merge(Id a, Id b) {
  if (a == b || b == kDead) return a;
  if (a == kDead) return b;
  const uint64_t key = uint64_t{std::min(a, b)} << 32 | std::max(a, b);
  if (const auto found = merged_.find(key); found != merged_.end()) return found->second;
  State out;
  out.can_end = states_[a].can_end || states_[b].can_end;
  // By index: merging what is below adds states.
  for (size_t i = 0, j = 0; i < states_[a].entries.size() || j < states_[b].entries.size();) {
    if (j == states_[b].entries.size()) {
      out.entries.push_back(states_[a].entries[i++]);
    } else if (i == states_[a].entries.size() || states_[b].entries[j].top < states_[a].entries[i].top) {
      out.entries.push_back(states_[b].entries[j++]);
    } else if (states_[a].entries[i].top < states_[b].entries[j].top) {
      out.entries.push_back(states_[a].entries[i++]);
    } else {
      const Entry x = states_[a].entries[i++], y = states_[b].entries[j++];
      out.entries.push_back({x.top, merge(x.below, y.below)});
    }
  }
  const Id merged = intern(std::move(out));
  bytes_ += 48;
  return merged_[key] = merged;
}

// Adds the stacks to the closure that is being made.
void StateTable::reach(uint32_t state, Id below) {
  const Automaton::State* states = automaton_.states.data();
  for (uint32_t i = states[state].reach; i < states[state + 1].reach; ++i) {
    const uint32_t core = automaton_.reach[i];
    const Id merged = merge(below_[core], below);
    if (merged == below_[core]) continue;
    if (below_[core] == kDead) reached_.push_back(core);
    below_[core] = merged;
    changed_.push_back(core);
  }
}

// Goes back to the callers of rules that have ended. The highest stacks come first: what is below them is complete when
// its turn comes, so that nothing is followed again and again.
void StateTable::follow_ends() {
  const auto lower = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::vector<std::pair<uint16_t, Entry>> heap;
  const auto take_changed = [&] {
    for (const uint32_t core : changed_) {
      if (!automaton_.states[core].final) continue;
      heap.push_back({states_[below_[core]].height, {core, below_[core]}});
      std::push_heap(heap.begin(), heap.end(), lower);
    }
    changed_.clear();
  };
  take_changed();
  while (!heap.empty()) {
    std::pop_heap(heap.begin(), heap.end(), lower);
    const Entry ended = heap.back().second;
    heap.pop_back();
    if (below_[ended.top] != ended.below) continue;  // there is more below it now, which is in the heap too
    can_end_ |= states_[ended.below].can_end;
    for (size_t i = 0; i < states_[ended.below].entries.size(); ++i) {
      const Entry entry = states_[ended.below].entries[i];
      reach(entry.top, entry.below);
    }
    take_changed();
  }
}

// Goes into rules in the order of their numbers, so that all callers of a rule come before it. Where a called rule may
// be empty, its callers have been followed past the call already.
void StateTable::follow_calls() {
  const Automaton::State* states = automaton_.states.data();
  const auto later = [](const auto& a, const auto& b) { return a.first > b.first; };
  std::vector<std::pair<uint32_t, uint32_t>> heap;  // rule, state
  const auto add = [&](uint32_t core) {
    if (states[core].calls == states[core + 1].calls) return;
    heap.emplace_back(states[core].rule, core);
    std::push_heap(heap.begin(), heap.end(), later);
  };
  for (const uint32_t core : reached_) add(core);
  for (uint32_t previous = UINT32_MAX; !heap.empty();) {
    std::pop_heap(heap.begin(), heap.end(), later);
    const uint32_t core = heap.back().second;
    heap.pop_back();
    if (core == previous) continue;
    previous = core;
    const Id below = below_[core];
    for (uint32_t i = states[core].calls; i < states[core + 1].calls; ++i) {
      const Automaton::Call& call = automaton_.calls[i];
      if (call.target == Automaton::kTail) {
        reach(call.start, below);
      } else if (states_[below].height < kMaxHeight) {
        reach(call.start, single(call.target, below));
      }
    }
    for (const uint32_t changed : changed_) add(changed);
    changed_.clear();
  }
}

// Only stacks with edges on top are left.
StateTable::Id StateTable::finish_closure(bool can_end) {
  can_end_ = can_end;
  follow_ends();
  follow_calls();
  const Automaton::State* states = automaton_.states.data();
  State out;
  out.can_end = can_end_;
  std::sort(reached_.begin(), reached_.end());
  for (const uint32_t core : reached_) {
    if (states[core].edges < states[core + 1].edges) out.entries.push_back({core, below_[core]});
    below_[core] = kDead;
  }
  reached_.clear();
  return intern(std::move(out));
}

StateTable::Id StateTable::closed(Id state) {
  if (const auto found = closed_.find(state); found != closed_.end()) return found->second;
  for (size_t i = 0; i < states_[state].entries.size(); ++i) {
    const Entry entry = states_[state].entries[i];
    reach(entry.top, entry.below);
  }
  bytes_ += 48;
  const Id result = finish_closure(states_[state].can_end);
  return closed_[state] = result;
}

StateTable::Id StateTable::new_step(Id from, uint16_t symbol_class) {
  const size_t classes = automaton_.class_symbols.size();
  if (bytes_ > 2 * limit_) return kDead;
  if (!rows_[from]) {
    rows_[from] = std::make_unique<Id[]>(classes);
    std::fill_n(rows_[from].get(), classes, kUnknown);
    bytes_ += classes * sizeof(Id);
  }
  const uint16_t symbol = automaton_.class_symbols[symbol_class];
  for (size_t i = 0; i < states_[from].entries.size(); ++i) {
    const Entry entry = states_[from].entries[i];
    for (uint32_t e = automaton_.states[entry.top].edges; e < automaton_.states[entry.top + 1].edges; ++e) {
      const Automaton::Edge& edge = automaton_.edges[e];
      if (edge.first <= symbol && symbol <= edge.last) reach(edge.target, entry.below);
    }
  }
  const Id to = finish_closure(false);
  return rows_[from][symbol_class] = to;
}

// Visits the nodes that can be reached, with the state there.
template <class Visit>
void StateTable::walk(Id from, size_t begin, size_t end, size_t depth, Visit visit) {
  const auto nodes = vocabulary_->nodes();
  path_[depth] = from;
  for (size_t i = begin; i < end;) {
    const TokenVocabulary::Node& node = nodes[i];
    const Id to = step(path_[node.depth - 1], node.symbol);
    if (to == kDead) {
      i = node.end;
      continue;
    }
    path_[node.depth] = to;
    visit(i, to);
    ++i;
  }
}

const StateTable::Local& StateTable::local(Id state) {
  std::unique_ptr<Local>& found = locals_[state];
  if (!found) {
    found = std::make_unique<Local>();
    const auto nodes = vocabulary_->nodes();
    walk(state, 0, nodes.size(), 0, [&](size_t node, Id to) {
      const auto tokens = vocabulary_->tokens_of(node);
      found->tokens.insert(found->tokens.end(), tokens.begin(), tokens.end());
      if (states_[to].can_end && nodes[node].end > node + 1) found->exits.push_back(static_cast<uint32_t>(node));
    });
    if (found->tokens.size() > 2 * vocabulary_->mask_words()) {
      found->words.resize(vocabulary_->mask_words());
      add_tokens(found->tokens, found->words);
      found->tokens = {};
    }
    bytes_ += 128 + (found->tokens.capacity() + found->exits.capacity()) * sizeof(int32_t) +
              found->words.size() * sizeof(uint64_t);
  }
  return *found;
}

void StateTable::add_tokens(std::span<const int32_t> tokens, std::vector<uint64_t>& words) {
  for (const int32_t id : tokens) words[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64);
}

// The tops of the stacks with the same stacks below are one problem, whose solution does not depend on what is below,
// except for the tokens that go on after the end of their rule.
const StateTable::Mask& StateTable::mask(Id state) {
  std::unique_ptr<Mask>& found = masks_[state];
  if (found) return *found;
  auto mask = std::make_unique<Mask>();
  mask->words.resize(vocabulary_->mask_words());
  std::vector<Entry> entries = states_[state].entries;
  std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) { return a.below < b.below; });
  const auto nodes = vocabulary_->nodes();
  for (size_t i = 0; i < entries.size();) {
    const Id below = entries[i].below;
    State tops;
    for (; i < entries.size() && entries[i].below == below; ++i) tops.entries.push_back({entries[i].top, kEnded});
    const Local& known = local(intern(std::move(tops)));
    add_tokens(known.tokens, mask->words);
    for (size_t word = 0; word < known.words.size(); ++word) mask->words[word] |= known.words[word];
    if (below == kEnded) continue;
    const Id after = closed(below);
    for (const uint32_t exit : known.exits)
      walk(after, exit + 1, nodes[exit].end, nodes[exit].depth,
           [&](size_t node, Id) { add_tokens(vocabulary_->tokens_of(node), mask->words); });
  }
  mask->only_end = std::all_of(mask->words.begin(), mask->words.end(), [](uint64_t word) { return word == 0; });
  if (mask->only_end || can_end(state)) add_tokens(vocabulary_->end_tokens(), mask->words);
  bytes_ += 128 + mask->words.size() * sizeof(uint64_t);
  found = std::move(mask);
  return *found;
}

StateTable::Id StateTable::import(const StateTable& other, Id state) {
  std::unordered_map<Id, Id> known = {{kDead, kDead}, {kEnded, kEnded}};
  return import(other, state, known);
}

StateTable::Id StateTable::import(const StateTable& other, Id state, std::unordered_map<Id, Id>& known) {
  if (const auto found = known.find(state); found != known.end()) return found->second;
  State copy = other.states_[state];
  for (Entry& entry : copy.entries) entry.below = import(other, entry.below, known);
  copy.height = 0;
  return known[state] = intern(std::move(copy));
}

}  // namespace terrace::text
