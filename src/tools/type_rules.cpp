#include "tools/type_rules.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <memory>

namespace terrace::tools {
namespace {

struct Free {
  void operator()(pcre2_code* code) const { pcre2_code_free(code); }
  void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
};

PCRE2_SPTR units(std::string_view text) { return reinterpret_cast<PCRE2_SPTR>(text.data()); }

}  // namespace

struct TypeRules::Rule {
  std::unique_ptr<pcre2_code, Free> expression;
  const format::BlockType* type;
};

TypeRules::TypeRules() = default;
TypeRules::TypeRules(TypeRules&&) noexcept = default;
TypeRules& TypeRules::operator=(TypeRules&&) noexcept = default;
TypeRules::~TypeRules() = default;

Result<TypeRules> TypeRules::parse(std::span<const std::string> rules) {
  TypeRules parsed;
  for (const std::string& rule : rules) {
    const size_t equals = rule.rfind('=');
    if (equals == std::string::npos || equals == 0)
      return fail("the rule '{}' has no '='; a rule is REGEX=TYPE, as in 'attn_v=Q6_K'", rule);
    const std::string_view pattern = std::string_view(rule).substr(0, equals);
    const std::string_view name = std::string_view(rule).substr(equals + 1);
    const format::BlockType* type = format::find_block_type(name);
    if (!type || !type->codec || !type->codec->encode)
      return fail("the rule '{}' names a type that is unknown or that Terrace does not make: '{}'", rule, name);
    int error = 0;
    PCRE2_SIZE where = 0;
    std::unique_ptr<pcre2_code, Free> expression(
        pcre2_compile(units(pattern), pattern.size(), 0, &error, &where, nullptr));
    if (!expression) {
      PCRE2_UCHAR message[256] = {};
      pcre2_get_error_message(error, message, sizeof message);
      return fail("the expression of the rule '{}' is wrong at character {}: {}", rule, where,
                  reinterpret_cast<const char*>(message));
    }
    parsed.rules_.push_back({std::move(expression), type});
  }
  return parsed;
}

const format::BlockType* TypeRules::find(std::string_view tensor) const {
  for (const Rule& rule : rules_) {
    const std::unique_ptr<pcre2_match_data, Free> match(
        pcre2_match_data_create_from_pattern(rule.expression.get(), nullptr));
    if (pcre2_match(rule.expression.get(), units(tensor), tensor.size(), 0, 0, match.get(), nullptr) >= 0)
      return rule.type;
  }
  return nullptr;
}

}  // namespace terrace::tools
