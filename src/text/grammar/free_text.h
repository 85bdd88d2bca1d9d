// Text in which given texts do not occur, as an automaton.
#pragma once

#include <cstdint>
#include <vector>

#include "base/result.h"
#include "text/grammar/automaton.h"
#include "text/grammar/grammar.h"

namespace terrace::text {

struct FreeTextState {
  std::vector<Automaton::Edge> edges;  ///< targets are indices of states
  bool accepting = false;
};

/// Deterministic; the first state is the start. Fails for an empty text or for too many of them.
Result<std::vector<FreeTextState>> free_text_states(const FreeText& spec);

}  // namespace terrace::text
