// A grammar as an automaton with a stack: the rules' states, edges over symbols, and calls of other rules.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace terrace::text {

/// Constant. Every state lies on a way to the end of its rule; no rule calls itself before it has read something.
struct Automaton {
  /// A byte is the symbol of its value. A byte of a control token's text is that plus 256: only literals and free text
  /// have edges for it.
  static constexpr uint32_t kControl = 256;
  static constexpr uint32_t kSymbols = 512;
  /// The target of a call after which the caller's rule has ended too.
  static constexpr uint32_t kTail = UINT32_MAX;

  struct Edge {
    uint16_t first = 0, last = 0;  ///< symbols, both included
    uint32_t target = 0;
  };
  struct Call {
    uint32_t start = 0;  ///< of the rule that is called
    uint32_t target = 0;
  };
  /// The ends are where the next state's begin.
  struct State {
    uint32_t edges = 0;
    uint32_t calls = 0;
    uint32_t reach = 0;
    uint32_t rule = 0;  ///< its number; a rule calls only later ones before it has read something
    bool final = false;
  };

  std::vector<State> states;  ///< and one more, for the ends
  std::vector<Edge> edges;
  std::vector<Call> calls;
  std::vector<uint32_t> reach;  ///< per state: those with edges or calls, or final, that reading nothing leads to
                                ///< in its rule, also through calls of what may be empty
  uint32_t start = 0;

  std::array<uint16_t, kSymbols> class_of{};  ///< symbols of one class are on the same edges
  std::vector<uint16_t> class_symbols;        ///< one symbol of each class
};

}  // namespace terrace::text
