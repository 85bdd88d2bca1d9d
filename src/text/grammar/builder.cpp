#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/grammar/compiler.h"
#include "text/grammar/grammar.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/json_text.h"
#include "text/grammar/utf8_ranges.h"

namespace terrace::text {
namespace {

constexpr uint16_t kMaxDepth = 256;
constexpr size_t kMaxNodes = 1'000'000;
constexpr uint32_t kMaxRepeat = 100'000;

}  // namespace

GrammarBuilder::GrammarBuilder() = default;
GrammarBuilder::~GrammarBuilder() = default;

void GrammarBuilder::set_error(Error error) {
  if (!error_) error_ = std::move(error);
}

Expr GrammarBuilder::add(Node node) {
  for (const Expr part : node.parts)
    node.depth = std::max(node.depth, static_cast<uint16_t>(nodes_[part.index].depth + 1));
  if (node.depth > kMaxDepth) {
    set_error(fail("the grammar is nested deeper than {} levels", kMaxDepth));
    node = {};
  }
  if (nodes_.size() >= kMaxNodes) {
    set_error(fail("the grammar has more than {} parts", kMaxNodes));
    return {0};
  }
  nodes_.push_back(std::move(node));
  return {static_cast<uint32_t>(nodes_.size() - 1)};
}

Expr GrammarBuilder::empty() { return add({}); }

Expr GrammarBuilder::literal(std::string_view text) {
  return text.empty() ? empty() : add({.kind = Kind::literal, .text = std::string(text)});
}

Expr GrammarBuilder::plain(std::string_view text) {
  return text.empty() ? empty() : add({.kind = Kind::plain, .text = std::string(text)});
}

Expr GrammarBuilder::characters(std::vector<CodePoints> ranges, bool negated) {
  ranges = normalized(std::move(ranges));
  if (negated) ranges = complement(ranges);
  return add({.kind = Kind::characters, .ranges = std::move(ranges)});
}

Expr GrammarBuilder::sequence(std::vector<Expr> parts) {
  if (parts.empty()) return empty();
  return parts.size() == 1 ? parts[0] : add({.kind = Kind::sequence, .parts = std::move(parts)});
}

Expr GrammarBuilder::choice(std::vector<Expr> alternatives) {
  return alternatives.size() == 1 ? alternatives[0] : add({.kind = Kind::choice, .parts = std::move(alternatives)});
}

Expr GrammarBuilder::repeat(Expr part, uint32_t min, std::optional<uint32_t> max) {
  if (max && *max < min) set_error(fail("a repetition has a minimum of {} and a maximum of {}", min, *max));
  if (min > kMaxRepeat || (max && *max > kMaxRepeat))
    set_error(fail("a repetition count of {} is above {}", std::max(min, max.value_or(0)), kMaxRepeat));
  if (max && *max == 0) return empty();
  return add({.kind = Kind::repeat, .min = min, .max = max.value_or(UINT32_MAX), .parts = {part}});
}

uint32_t GrammarBuilder::rule_index(std::string_view name) {
  const auto [found, added] = rule_indices_.emplace(std::string(name), static_cast<uint32_t>(rules_.size()));
  if (added) rules_.push_back({std::string(name), std::nullopt});
  return found->second;
}

Expr GrammarBuilder::rule(std::string_view name) { return add({.kind = Kind::rule, .min = rule_index(name)}); }

void GrammarBuilder::define(std::string_view name, Expr body) {
  Rule& rule = rules_[rule_index(name)];
  if (rule.body) set_error(fail("rule '{}' is defined twice", name));
  rule.body = body;
}

bool GrammarBuilder::is_defined(std::string_view name) const {
  const auto found = rule_indices_.find(std::string(name));
  return found != rule_indices_.end() && rules_[found->second].body;
}

Expr GrammarBuilder::make_rule(Expr body) {
  const std::string name = new_name("");
  define(name, body);
  return rule(name);
}

std::string GrammarBuilder::new_name(std::string_view purpose) { return fmt::format("#{} {}", ++names_, purpose); }

Expr GrammarBuilder::free_text(const FreeText& spec) {
  free_texts_.push_back(spec);
  return add({.kind = Kind::free_text, .min = static_cast<uint32_t>(free_texts_.size() - 1)});
}

// One rule for all places with the same markers: which tokens may come is then worked out only once.
Expr GrammarBuilder::shared_text(FreeText spec) {
  std::sort(spec.anywhere.begin(), spec.anywhere.end());
  std::string name = spec.until ? "#text until" : "#text without";
  for (const std::string& marker : spec.anywhere) name += fmt::format(" {}:{}", marker.size(), marker);
  if (!is_defined(name)) define(name, free_text(spec));
  return rule(name);
}

Expr GrammarBuilder::text_without(std::vector<std::string> markers) {
  return shared_text({.anywhere = std::move(markers)});
}

Expr GrammarBuilder::text_until(std::vector<std::string> markers) {
  return shared_text({.anywhere = std::move(markers), .until = true});
}

Expr GrammarBuilder::json_value() { return JsonText(*this).value(); }

Expr GrammarBuilder::json_object() { return JsonText(*this).object(); }

Result<Expr> GrammarBuilder::json_schema(const nlohmann::ordered_json& schema) {
  return compile_json_schema(*this, schema);
}

Result<Grammar> GrammarBuilder::build(Expr root) {
  if (error_) return *error_;
  TERRACE_TRY(Automaton automaton, GrammarCompiler(*this).compile(root));
  return Grammar(std::make_shared<const Automaton>(std::move(automaton)));
}

}  // namespace terrace::text
