// What a model may write, as a grammar: rules over characters, composed by code, by GBNF or by a JSON Schema.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"

namespace terrace::text {

/// An expression of the GrammarBuilder that made it. It may stand in several places; each one costs its size again, so
/// what is large and used often should be a rule.
struct Expr {
  uint32_t index = 0;
};

/// Code points, both ends included.
struct CodePoints {
  uint32_t first = 0;
  uint32_t last = 0;
};

/// Text in which something does not occur: see GrammarBuilder::free_text().
struct FreeText {
  std::vector<std::string> anywhere;       ///< texts that do not occur, or, if `until`, only as its end
  std::vector<std::string> at_line_start;  ///< texts that do not occur at the start of the text or after a line feed
  bool ends_at_line_start = false;         ///< it is empty or ends with a line feed
  bool until = false;                      ///< it ends with the first of `anywhere`
  bool control_tokens = false;             ///< control tokens may stand in it, and bytes that are not UTF-8
};

struct Automaton;

/// A grammar that is ready to run; see CompiledGrammar. Cheap to copy, constant.
class Grammar {
 public:
  explicit Grammar(std::shared_ptr<const Automaton> automaton) : automaton_(std::move(automaton)) {}
  const Automaton& automaton() const { return *automaton_; }

 private:
  std::shared_ptr<const Automaton> automaton_;
};

/// Composes a grammar. What is wrong with an expression (a count, a name, a size) is reported by build(), so that
/// composing needs no checks. Not thread-safe.
class GrammarBuilder {
 public:
  GrammarBuilder();
  ~GrammarBuilder();
  GrammarBuilder(const GrammarBuilder&) = delete;
  GrammarBuilder& operator=(const GrammarBuilder&) = delete;

  Expr empty();
  /// Exactly these bytes. A control token whose text is a part of them may write that part.
  Expr literal(std::string_view text);
  /// Exactly these bytes, written without control tokens: for text that comes from a user.
  Expr plain(std::string_view text);
  /// One character out of the ranges, or, if `negated`, any other. Written as well-formed UTF-8.
  Expr characters(std::vector<CodePoints> ranges, bool negated = false);
  Expr any_character() { return characters({}, true); }

  Expr sequence(std::vector<Expr> parts);
  Expr choice(std::vector<Expr> alternatives);
  Expr optional(Expr part) { return repeat(part, 0, 1); }
  /// `part` at least `min` and at most `max` times, or without a limit. Costs max (or min + 1) times the part's size.
  Expr repeat(Expr part, uint32_t min, std::optional<uint32_t> max = std::nullopt);

  /// The rule of that name, which may be defined later and may refer to itself, though not as the first thing it
  /// writes.
  Expr rule(std::string_view name);
  /// Each name can be defined once. Names that begin with '#' belong to the builder.
  void define(std::string_view name, Expr body);
  bool is_defined(std::string_view name) const;
  /// A new rule with a name of its own.
  Expr make_rule(Expr body);
  /// A name that no rule has yet, for a rule that refers to itself; errors may show `purpose`.
  std::string new_name(std::string_view purpose);

  /// Any text, possibly empty, in which no marker occurs.
  Expr text_without(std::vector<std::string> markers);
  /// Any text up to the first of the markers, and that marker.
  Expr text_until(std::vector<std::string> markers);
  Expr free_text(const FreeText& spec);

  /// Any JSON value; an object; see docs/grammar.md about white space.
  Expr json_value();
  Expr json_object();
  /// A JSON text that is valid against `schema`. An error names the place in the schema: `properties.a.pattern`.
  Result<Expr> json_schema(const nlohmann::ordered_json& schema);

  /// Fails if a rule is missing, begins with itself or can never end, or if the grammar is too large. The builder is
  /// as before and can build further grammars.
  Result<Grammar> build(Expr root);

 private:
  friend class GrammarCompiler;
  enum class Kind : uint8_t { empty, literal, plain, characters, sequence, choice, repeat, rule, free_text };
  struct Node {
    Kind kind = Kind::empty;
    uint16_t depth = 1;
    uint32_t min = 0, max = 0;       ///< of a repetition; of the other kinds that need it, min is an index
    std::string text;                ///< of a literal
    std::vector<CodePoints> ranges;  ///< of characters: sorted, disjoint
    std::vector<Expr> parts;
  };
  struct Rule {
    std::string name;
    std::optional<Expr> body;
  };

  Expr add(Node node);
  Expr shared_text(FreeText spec);
  uint32_t rule_index(std::string_view name);
  void set_error(Error error);

  std::vector<Node> nodes_;
  std::vector<Rule> rules_;
  std::unordered_map<std::string, uint32_t> rule_indices_;
  std::vector<FreeText> free_texts_;
  size_t names_ = 0;
  std::optional<Error> error_;  ///< the first thing that went wrong
};

}  // namespace terrace::text
