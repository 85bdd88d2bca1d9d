// A grammar that holds only from a trigger on.
#pragma once

#include <string>
#include <vector>

#include "text/grammar/grammar.h"

namespace terrace::text {

/// A text that begins a part which a grammar describes, such as a tool call.
struct Trigger {
  std::string text;
  Expr grammar;           ///< REQUIRES: all that it allows begins with `text`
  bool anywhere = false;  ///< also inside a line; for the text of a special token. Otherwise only at a line's start.
};

struct LazyOptions {
  bool free_text_after =
      false;  ///< after the grammar's end there may be free text and triggers again, not only the end
};

/// Free text, with all tokens, until a trigger has been written whole: its grammar began where it began. The start of
/// the text counts as the start of a line, and so does the end of a grammar. While the text is free it may end.
Expr lazy(GrammarBuilder& builder, const std::vector<Trigger>& triggers, LazyOptions options = {});

}  // namespace terrace::text
