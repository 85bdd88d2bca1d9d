#include "text/grammar/lazy_constraint.h"

namespace terrace::text {

// The free text that could go on beside a grammar is dead once the trigger is whole, and grammars can begin only where
// their trigger may stand: so which of them holds is never in doubt.
Expr lazy(GrammarBuilder& builder, const std::vector<Trigger>& triggers, LazyOptions options) {
  FreeText text{.control_tokens = true};
  std::vector<Expr> anywhere, at_line_start;
  for (const Trigger& trigger : triggers) {
    (trigger.anywhere ? text.anywhere : text.at_line_start).push_back(trigger.text);
    (trigger.anywhere ? anywhere : at_line_start).push_back(trigger.grammar);
  }
  FreeText lines = text;
  lines.ends_at_line_start = true;

  const Expr free = builder.free_text(text);
  std::vector<Expr> parts;
  if (!anywhere.empty()) parts.push_back(builder.sequence({free, builder.choice(std::move(anywhere))}));
  if (!at_line_start.empty())
    parts.push_back(builder.sequence({builder.free_text(lines), builder.choice(std::move(at_line_start))}));
  if (parts.empty()) return free;
  const Expr part = builder.choice(std::move(parts));
  if (options.free_text_after) return builder.sequence({builder.repeat(part, 0), free});
  return builder.choice({free, part});
}

}  // namespace terrace::text
