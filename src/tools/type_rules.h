// Rules of the form REGEX=TYPE, which choose block types of tensors by their names.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/block_type.h"

namespace terrace::tools {

/// Perl-compatible expressions, found anywhere in a tensor's name; the first rule that matches decides.
class TypeRules {
 public:
  /// Errors quote the rule: no "=", an expression that does not compile, a type that is unknown or that Terrace cannot
  /// encode.
  static Result<TypeRules> parse(std::span<const std::string> rules);
  TypeRules();
  TypeRules(TypeRules&&) noexcept;
  TypeRules& operator=(TypeRules&&) noexcept;
  ~TypeRules();

  /// The type for that tensor, or null when no rule matches it.
  const format::BlockType* find(std::string_view tensor) const;

 private:
  struct Rule;
  std::vector<Rule> rules_;
};

}  // namespace terrace::tools
