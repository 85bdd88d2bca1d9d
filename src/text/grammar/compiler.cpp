#include "text/grammar/compiler.h"

#include <algorithm>
#include <set>

#include "text/grammar/free_text.h"

namespace terrace::text {
namespace {

constexpr size_t kMaxStates = 400'000;
constexpr size_t kMaxEdges = 2'000'000;
constexpr size_t kMaxReach = 4'000'000;
constexpr size_t kMaxCopied = 64;
constexpr int kMaxRulesDeep = 8;

// Where the items of each source begin once they are sorted by it.
template <class Item, class Source>
std::vector<uint32_t> group(std::vector<Item>& items, uint32_t sources, Source source) {
  std::stable_sort(items.begin(), items.end(), [&](const Item& a, const Item& b) { return source(a) < source(b); });
  std::vector<uint32_t> begins(sources + 1);
  for (const Item& item : items) ++begins[source(item) + 1];
  for (uint32_t i = 0; i < sources; ++i) begins[i + 1] += begins[i];
  return begins;
}

}  // namespace

uint32_t GrammarCompiler::new_state(uint32_t rule) {
  rule_of_state_.push_back(rule);
  return states_++;
}

void GrammarCompiler::add_edge(uint32_t source, uint32_t first, uint32_t last, uint32_t target) {
  edges_.push_back({source, {static_cast<uint16_t>(first), static_cast<uint16_t>(last), target}});
}

Status GrammarCompiler::check_size() const {
  if (states_ > kMaxStates || edges_.size() + jumps_.size() + calls_.size() > kMaxEdges)
    return fail("the grammar is too large: repetitions with large counts, or long lists");
  return Done{};
}

uint32_t GrammarCompiler::compiled_rule(uint32_t builder_rule) {
  const auto [found, added] = rule_of_.emplace(builder_rule, static_cast<uint32_t>(rules_.size()));
  if (added) {
    pending_.push_back(builder_rule);
    const uint32_t start = new_state(found->second), end = new_state(found->second);
    rules_.push_back({start, end, builder_.rules_[builder_rule].name});
  }
  return found->second;
}

// About how many states a copy of the expression has; more than kMaxCopied if it cannot or should not be copied.
size_t GrammarCompiler::copied_size(Expr expr, int rules_deep) {
  using Kind = GrammarBuilder::Kind;
  const GrammarBuilder::Node& node = builder_.nodes_[expr.index];
  if (node.kind == Kind::free_text) return kMaxCopied + 1;
  if (node.kind == Kind::rule) {
    if (!is_copied(node.min, rules_deep + 1)) return kMaxCopied + 1;
    return copied_size(*builder_.rules_[node.min].body, rules_deep + 1);
  }
  size_t size = 1 + node.text.size() + 2 * node.ranges.size();
  for (const Expr part : node.parts)
    if (size <= kMaxCopied) size += copied_size(part, rules_deep);
  if (node.kind == Kind::repeat) {
    if (node.max > kMaxCopied) return kMaxCopied + 1;
    size *= node.max;
  }
  return size;
}

// Rules that are about one character are copied into their callers: `string ::= char*` would otherwise return from a
// rule, and look into its callers, at every place of every token. Those with loops are better called, because what is
// worked out about them holds for all callers.
bool GrammarCompiler::is_copied(uint32_t builder_rule, int rules_deep) {
  const GrammarBuilder::Rule& rule = builder_.rules_[builder_rule];
  if (!rule.body || rules_deep > kMaxRulesDeep) return false;
  // Not while it is being asked: a rule inside itself.
  const auto [found, added] = copied_.emplace(builder_rule, false);
  if (added) {
    const bool copied = copied_size(*rule.body, rules_deep) <= kMaxCopied;
    copied_[builder_rule] = copied;
    return copied;
  }
  return found->second;
}

// Adds edges out of `from` and of new states only, so that an alternative cannot come back into its choice.
Status GrammarCompiler::connect(Expr expr, uint32_t from, uint32_t to) {
  using Kind = GrammarBuilder::Kind;
  const GrammarBuilder::Node& node = builder_.nodes_[expr.index];
  TERRACE_CHECK(check_size());
  switch (node.kind) {
    case Kind::empty:
      jumps_.push_back({from, to});
      break;
    case Kind::literal:
    case Kind::plain:
      for (size_t i = 0; i < node.text.size(); ++i) {
        const uint32_t target = i + 1 == node.text.size() ? to : new_state();
        const auto byte = static_cast<uint8_t>(node.text[i]);
        add_edge(from, byte, byte, target);
        if (node.kind == Kind::literal) add_edge(from, Automaton::kControl + byte, Automaton::kControl + byte, target);
        from = target;
      }
      break;
    case Kind::characters:
      return connect_characters(node.ranges, from, to);
    case Kind::sequence:
      for (size_t i = 0; i < node.parts.size(); ++i) {
        const uint32_t target = i + 1 == node.parts.size() ? to : new_state();
        TERRACE_CHECK(connect(node.parts[i], from, target));
        from = target;
      }
      break;
    case Kind::choice:
      for (const Expr part : node.parts) TERRACE_CHECK(connect(part, from, to));
      break;
    case Kind::repeat:
      return connect_repeat(node, from, to);
    case Kind::rule:
      if (is_copied(node.min)) return connect(*builder_.rules_[node.min].body, from, to);
      calls_.push_back({from, compiled_rule(node.min), to});
      break;
    case Kind::free_text:
      return connect_free_text(builder_.free_texts_[node.min], from, to);
  }
  return Done{};
}

Status GrammarCompiler::connect_characters(const std::vector<CodePoints>& ranges, uint32_t from, uint32_t to) {
  // Characters with the same last bytes share the states for them.
  std::map<std::pair<ByteRange, uint32_t>, uint32_t> tails;
  for (const CodePoints range : ranges) {
    for (const ByteSequence& sequence : utf8_sequences(range)) {
      uint32_t target = to;
      for (size_t i = sequence.size() - 1; i > 0; --i) {
        const auto [found, added] = tails.emplace(std::pair(sequence[i], target), states_);
        if (added) add_edge(new_state(), sequence[i].first, sequence[i].last, target);
        target = found->second;
      }
      add_edge(from, sequence[0].first, sequence[0].last, target);
    }
    TERRACE_CHECK(check_size());
  }
  return Done{};
}

Status GrammarCompiler::connect_repeat(const GrammarBuilder::Node& node, uint32_t from, uint32_t to) {
  const Expr part = node.parts[0];
  for (uint32_t i = 0; i < node.min; ++i) {
    const uint32_t target = new_state();
    TERRACE_CHECK(connect(part, from, target));
    from = target;
  }
  if (node.max == UINT32_MAX) {
    const uint32_t loop = new_state();
    jumps_.push_back({from, loop});
    TERRACE_CHECK(connect(part, loop, loop));
    jumps_.push_back({loop, to});
    return Done{};
  }
  for (uint32_t i = node.min; i < node.max; ++i) {
    jumps_.push_back({from, to});
    const uint32_t target = new_state();
    TERRACE_CHECK(connect(part, from, target));
    from = target;
  }
  jumps_.push_back({from, to});
  return Done{};
}

Status GrammarCompiler::connect_free_text(const FreeText& spec, uint32_t from, uint32_t to) {
  TERRACE_TRY(const auto text, free_text_states(spec));
  const uint32_t base = states_;
  for (size_t i = 0; i < text.size(); ++i) (void)new_state();
  jumps_.push_back({from, base});
  for (uint32_t i = 0; i < text.size(); ++i) {
    for (const Automaton::Edge edge : text[i].edges) add_edge(base + i, edge.first, edge.last, base + edge.target);
    if (text[i].accepting) jumps_.push_back({base + i, to});
  }
  return Done{};
}

// The states from which the end of their rule can be reached: at all, or without reading anything.
GrammarCompiler::Flags GrammarCompiler::states_that_end(bool reading) const {
  struct Back {
    uint32_t target, source, rule;
  };
  static constexpr uint32_t kNoRule = UINT32_MAX;
  std::vector<Back> back;
  for (const Jump& jump : jumps_) back.push_back({jump.target, jump.source, kNoRule});
  for (const Call& call : calls_) back.push_back({call.target, call.source, call.rule});
  if (reading)
    for (const Edge& edge : edges_) back.push_back({edge.edge.target, edge.source, kNoRule});
  const auto begins = group(back, states_, [](const Back& item) { return item.target; });
  std::vector<Call> calls = calls_;
  const auto callers = group(calls, static_cast<uint32_t>(rules_.size()), [](const Call& call) { return call.rule; });
  std::vector<uint32_t> rule_at(states_, kNoRule);
  for (uint32_t i = 0; i < rules_.size(); ++i) rule_at[rules_[i].start] = i;

  Flags ends(states_);
  std::vector<uint32_t> work;
  const auto add = [&](uint32_t state) {
    if (!ends[state]) work.push_back(state);
    ends[state] = 1;
  };
  for (const Rule& rule : rules_) add(rule.end);
  while (!work.empty()) {
    const uint32_t state = work.back();
    work.pop_back();
    for (uint32_t i = begins[state]; i < begins[state + 1]; ++i)
      if (back[i].rule == kNoRule || ends[rules_[back[i].rule].start]) add(back[i].source);
    if (const uint32_t rule = rule_at[state]; rule != kNoRule)
      for (uint32_t i = callers[rule]; i < callers[rule + 1]; ++i)
        if (ends[calls[i].target]) add(calls[i].source);
  }
  return ends;
}

// Numbers such that a rule calls only later ones before it has read something. A rule that calls itself then would call
// for ever.
Result<std::vector<uint32_t>> GrammarCompiler::rule_numbers(const Flags& live, const Flags& nullable) const {
  struct Step {
    uint32_t source, target, rule;
  };
  static constexpr uint32_t kNoRule = UINT32_MAX;
  std::vector<Step> steps;
  for (const Jump& jump : jumps_) steps.push_back({jump.source, jump.target, kNoRule});
  for (const Call& call : calls_) {
    if (!live[call.target] || !live[rules_[call.rule].start]) continue;
    steps.push_back({call.source, rules_[call.rule].start, call.rule});
    if (nullable[rules_[call.rule].start]) steps.push_back({call.source, call.target, kNoRule});
  }
  const auto begins = group(steps, states_, [](const Step& step) { return step.source; });

  std::vector<std::vector<uint32_t>> first_calls(rules_.size());
  std::vector<uint32_t> seen(states_, kNoRule), work;
  size_t visited = 0;
  for (uint32_t rule = 0; rule < rules_.size(); ++rule) {
    work = {rules_[rule].start};
    seen[work[0]] = rule;
    while (!work.empty()) {
      const uint32_t state = work.back();
      work.pop_back();
      if (++visited > kMaxReach) return fail("the grammar is too large");
      for (uint32_t i = begins[state]; i < begins[state + 1]; ++i) {
        if (steps[i].rule != kNoRule) {
          first_calls[rule].push_back(steps[i].rule);
        } else if (seen[steps[i].target] != rule) {
          seen[steps[i].target] = rule;
          work.push_back(steps[i].target);
        }
      }
    }
  }
  return numbers_by_first_calls(first_calls);
}

// A search in depth numbers the rules from the last to the first, and finds circles.
Result<std::vector<uint32_t>> GrammarCompiler::numbers_by_first_calls(
    const std::vector<std::vector<uint32_t>>& first_calls) const {
  enum : uint8_t { fresh, open, closed };
  std::vector<uint8_t> marks(rules_.size(), fresh);
  std::vector<size_t> at(rules_.size());
  std::vector<uint32_t> numbers(rules_.size()), work;
  auto next = static_cast<uint32_t>(rules_.size());
  for (uint32_t rule = 0; rule < rules_.size(); ++rule) {
    if (marks[rule] != fresh) continue;
    work = {rule};
    marks[rule] = open;
    while (!work.empty()) {
      const uint32_t current = work.back();
      if (at[current] == first_calls[current].size()) {
        marks[current] = closed;
        numbers[current] = --next;
        work.pop_back();
        continue;
      }
      const uint32_t called = first_calls[current][at[current]++];
      if (marks[called] == open)
        return fail("rule '{}' begins with itself (left recursion); write it with a repetition instead",
                    rules_[called].name);
      if (marks[called] == fresh) {
        marks[called] = open;
        work.push_back(called);
      }
    }
  }
  return numbers;
}

Status GrammarCompiler::emit(const Flags& live, const Flags& nullable, Automaton& out) const {
  std::vector<Edge> edges;
  for (const Edge& edge : edges_)
    if (live[edge.edge.target]) edges.push_back(edge);
  std::vector<Call> calls;
  for (const Call& call : calls_)
    if (live[call.target] && live[rules_[call.rule].start]) calls.push_back(call);
  std::vector<Jump> jumps;
  for (const Jump& jump : jumps_)
    if (live[jump.target]) jumps.push_back(jump);
  for (const Call& call : calls)
    if (nullable[rules_[call.rule].start]) jumps.push_back({call.source, call.target});
  const auto edge_begins = group(edges, states_, [](const Edge& edge) { return edge.source; });
  const auto call_begins = group(calls, states_, [](const Call& call) { return call.source; });
  const auto jump_begins = group(jumps, states_, [](const Jump& jump) { return jump.source; });

  out.states.resize(states_ + 1);
  for (const Rule& rule : rules_) out.states[rule.end].final = true;
  std::vector<uint32_t> seen(states_, UINT32_MAX), work;
  for (uint32_t state = 0; state < states_; ++state) {
    out.states[state].edges = edge_begins[state];
    out.states[state].calls = call_begins[state];
    out.states[state].reach = static_cast<uint32_t>(out.reach.size());
    work = {state};
    seen[state] = state;
    while (!work.empty()) {
      const uint32_t at = work.back();
      work.pop_back();
      if (edge_begins[at] < edge_begins[at + 1] || call_begins[at] < call_begins[at + 1] || out.states[at].final)
        out.reach.push_back(at);
      for (uint32_t i = jump_begins[at]; i < jump_begins[at + 1]; ++i)
        if (seen[jumps[i].target] != state) {
          seen[jumps[i].target] = state;
          work.push_back(jumps[i].target);
        }
    }
    if (out.reach.size() > kMaxReach) return fail("the grammar is too large: repetitions of what may be empty");
  }
  out.states[states_] = {.edges = static_cast<uint32_t>(edges.size()),
                         .calls = static_cast<uint32_t>(calls.size()),
                         .reach = static_cast<uint32_t>(out.reach.size())};
  for (const Edge& edge : edges) out.edges.push_back(edge.edge);
  for (const Call& call : calls) {
    const uint32_t begin = out.states[call.target].reach, end = out.states[call.target + 1].reach;
    const bool tail = end - begin == 1 && out.states[out.reach[begin]].final;
    out.calls.push_back({rules_[call.rule].start, tail ? Automaton::kTail : call.target});
  }
  return Done{};
}

void GrammarCompiler::classify_symbols(Automaton& out) {
  std::set<std::pair<uint16_t, uint16_t>> ranges;
  for (const Automaton::Edge& edge : out.edges) ranges.emplace(edge.first, edge.last);
  std::array<std::vector<uint32_t>, Automaton::kSymbols> signatures;
  uint32_t number = 0;
  for (const auto& [first, last] : ranges) {
    for (size_t symbol = first; symbol <= last; ++symbol) signatures[symbol].push_back(number);
    ++number;
  }
  std::map<std::vector<uint32_t>, uint16_t> classes;
  for (size_t symbol = 0; symbol < Automaton::kSymbols; ++symbol) {
    const auto [found, added] = classes.emplace(signatures[symbol], static_cast<uint16_t>(classes.size()));
    if (added) out.class_symbols.push_back(static_cast<uint16_t>(symbol));
    out.class_of[symbol] = found->second;
  }
}

Result<Automaton> GrammarCompiler::compile(Expr root) {
  const uint32_t start = new_state(), end = new_state();
  rules_.push_back({start, end, "root"});
  TERRACE_CHECK(connect(root, start, end));
  for (size_t i = 0; i < pending_.size(); ++i) {
    const GrammarBuilder::Rule& rule = builder_.rules_[pending_[i]];
    if (!rule.body) return fail("rule '{}' is used but not defined", rule.name);
    current_rule_ = static_cast<uint32_t>(i + 1);
    const uint32_t rule_start = rules_[current_rule_].start, rule_end = rules_[current_rule_].end;
    TERRACE_CHECK(connect(*rule.body, rule_start, rule_end));
  }
  TERRACE_CHECK(check_size());
  const Flags live = states_that_end(true);
  if (!live[start]) {
    for (const Rule& rule : rules_)
      if (!live[rule.start] && &rule != &rules_[0])
        return fail("nothing that the grammar allows can ever end: see rule '{}'", rule.name);
    return fail("the grammar allows nothing at all");
  }
  const Flags nullable = states_that_end(false);
  TERRACE_TRY(const auto numbers, rule_numbers(live, nullable));
  Automaton out;
  TERRACE_CHECK(emit(live, nullable, out));
  for (uint32_t state = 0; state < states_; ++state) out.states[state].rule = numbers[rule_of_state_[state]];
  out.start = start;
  classify_symbols(out);
  return out;
}

}  // namespace terrace::text
