// The grammar of JSON texts. Its rules are shared by all that is built with one builder.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "text/grammar/grammar.h"

namespace terrace::text {

/// White space may stand after '{', '[', ',' and ':' and before '}' and ']': one space, or a line feed and up to 40
/// spaces or tabs, so that a model cannot write white space for ever.
class JsonText {
 public:
  explicit JsonText(GrammarBuilder& builder) : builder_(builder) {}

  Expr space();
  Expr value();
  Expr object();
  Expr array();
  Expr string();
  Expr integer();
  Expr number();
  Expr boolean();
  Expr null();

  /// One character inside a string, also as an escape: a pair of surrogate escapes is one.
  Expr any_character();
  /// From `min` to `max` characters.
  Expr any_characters(uint32_t min, std::optional<uint32_t> max);
  /// One character of the set, written as it is or, where it must be, as an escape.
  Expr character(const std::vector<CodePoints>& set);
  /// The same for all characters but those.
  Expr character_except(std::vector<CodePoints> set);
  /// A string without its quotes, character by character as character() writes them.
  Expr characters_of(std::string_view text);

  /// Exactly that value, with any allowed white space.
  Expr constant(const nlohmann::ordered_json& value);

  /// '{' members '}' or '[' items ']'.
  Expr braces(Expr members);
  Expr brackets(Expr items);
  Expr comma();
  /// `key`, which is a whole string with its quotes, and a value.
  Expr member(Expr key, Expr value);

 private:
  Expr escape();
  template <class Make>
  Expr shared(std::string_view name, Make make);

  GrammarBuilder& builder_;
};

}  // namespace terrace::text
