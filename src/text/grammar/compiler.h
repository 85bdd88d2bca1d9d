// Expressions -> automaton.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "text/grammar/automaton.h"
#include "text/grammar/grammar.h"
#include "text/grammar/utf8_ranges.h"

namespace terrace::text {

/// Used once, for one grammar. Every step is linear in the size of the grammar, which is limited.
class GrammarCompiler {
 public:
  explicit GrammarCompiler(const GrammarBuilder& builder) : builder_(builder) {}
  Result<Automaton> compile(Expr root);

 private:
  struct Edge {
    uint32_t source;
    Automaton::Edge edge;
  };
  struct Jump {
    uint32_t source, target;
  };
  struct Call {
    uint32_t source, rule, target;
  };
  struct Rule {
    uint32_t start, end;
    std::string name;
  };
  using Flags = std::vector<uint8_t>;

  uint32_t new_state(uint32_t rule);
  uint32_t new_state() { return new_state(current_rule_); }
  void add_edge(uint32_t source, uint32_t first, uint32_t last, uint32_t target);
  uint32_t compiled_rule(uint32_t builder_rule);
  size_t copied_size(Expr expr, int rules_deep);
  bool is_copied(uint32_t builder_rule, int rules_deep = 0);
  Status connect(Expr expr, uint32_t from, uint32_t to);
  Status connect_characters(const std::vector<CodePoints>& ranges, uint32_t from, uint32_t to);
  Status connect_repeat(const GrammarBuilder::Node& node, uint32_t from, uint32_t to);
  Status connect_free_text(const FreeText& spec, uint32_t from, uint32_t to);
  Status check_size() const;

  Flags states_that_end(bool reading) const;
  Result<std::vector<uint32_t>> rule_numbers(const Flags& live, const Flags& nullable) const;
  Result<std::vector<uint32_t>> numbers_by_first_calls(const std::vector<std::vector<uint32_t>>& first_calls) const;
  Status emit(const Flags& live, const Flags& nullable, Automaton& out) const;
  static void classify_symbols(Automaton& out);

  const GrammarBuilder& builder_;
  uint32_t states_ = 0;
  uint32_t current_rule_ = 0;
  std::vector<uint32_t> rule_of_state_;
  std::vector<Edge> edges_;
  std::vector<Jump> jumps_;
  std::vector<Call> calls_;
  std::vector<Rule> rules_;
  std::vector<uint32_t> pending_;         ///< builder's rules, in the order of rules_ without the root
  std::map<uint32_t, uint32_t> rule_of_;  ///< builder's rule -> rules_
  std::map<uint32_t, bool> copied_;       ///< builder's rule -> is_copied()
};

}  // namespace terrace::text
