// The steps of compile_json_schema().
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "text/grammar/decimal.h"
#include "text/grammar/grammar.h"
#include "text/grammar/json_text.h"

namespace terrace::text {

/// `path` is always the place of the schema at hand, empty for the root.
class SchemaCompiler {
 public:
  using Json = nlohmann::ordered_json;

  SchemaCompiler(GrammarBuilder& builder, const Json& root) : builder_(builder), json_(builder), root_(root) {}
  Result<Expr> compile_root();

 private:
  Status count_work(size_t work, const std::string& path);
  Result<Expr> compile(const Json& schema, const std::string& path);
  Result<Expr> compile_object_form(const Json& schema, const std::string& path);
  Result<Expr> compile_alternatives(const Json& schema, const std::string& keyword, const std::string& path);
  Result<Expr> compile_type(const std::string& type, const Json& schema, const std::string& path);
  Result<Expr> compile_merged(Json merged, const std::string& path);
  /// A schema below, for which a reference back to those above is progress.
  Result<Expr> compile_below(const Json& schema, const std::string& path);

  Result<const Json*> resolve(const Json& reference, const std::string& path) const;
  Result<Expr> compile_reference(const Json& reference, const std::string& path);
  /// The schema without $ref and allOf at its top.
  Result<Json> flatten(const Json& schema, const std::string& path, int depth);

  Result<Expr> compile_values(const Json& values, const Json& schema, const std::string& path);
  Result<Expr> compile_string(const Json& schema, const std::string& path);
  Result<Expr> compile_number(const Json& schema, bool integer, const std::string& path);
  Result<NumberBounds> number_bounds(const Json& schema, const std::string& path) const;

  struct Member {
    Expr expr;
    bool required;
  };
  struct Members {
    std::vector<Member> named;
    std::optional<Expr> additional;
    uint32_t min = 0;
    std::optional<uint32_t> max;
  };
  Result<Expr> compile_object(const Json& schema, const std::string& path);
  Result<Members> object_members(const Json& schema, const std::string& path);
  Status add_additional(const Json& schema, const std::string& path, Members& members);
  Result<Expr> member_lists(const Members& members, const std::string& path);
  Expr more_members(const Members& members, uint32_t written);
  Result<Expr> other_key(const std::set<std::string>& names, const std::string& path);
  Result<Expr> compile_array(const Json& schema, const std::string& path);

  GrammarBuilder& builder_;
  JsonText json_;
  const Json& root_;
  std::map<const Json*, std::string> references_;  ///< the rules of schemas that were referred to
  std::map<std::string, std::string> merged_;      ///< the rules of joined schemas, by their text
  std::set<std::string> open_;                     ///< rules that are being made and have read nothing yet
  int depth_ = 0;
  size_t work_ = 0;
};

/// `path` and a keyword or an index.
std::string below(const std::string& path, std::string_view keyword);
std::string below(const std::string& path, std::string_view keyword, size_t index);

/// The types a schema names, or else those that its keywords are about; none: any value.
Result<std::vector<std::string>> types_of(const nlohmann::ordered_json& schema, const std::string& path);

/// A count that is not negative, or nothing if the keyword is not there.
Result<std::optional<uint32_t>> read_count(const nlohmann::ordered_json& schema, const char* keyword,
                                           const std::string& path);

}  // namespace terrace::text
