// Strings, numbers and lists of values of JSON Schemas.
#include <algorithm>
#include <cmath>

#include "text/grammar/pattern.h"
#include "text/grammar/schema_compiler.h"
#include "text/grammar/schema_merge.h"

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

// What a list of values would have to be checked against one by one.
bool is_about_values(const std::string& keyword) {
  static const std::set<std::string> keywords = {
      "minLength",        "maxLength",  "pattern",    "format",   "minimum",       "maximum",
      "exclusiveMinimum", "multipleOf", "properties", "required", "propertyNames", "additionalProperties",
      "exclusiveMaximum", "items",      "minItems",   "maxItems", "prefixItems",   "minProperties",
      "maxProperties"};
  return keywords.contains(keyword);
}

std::string type_of(const Json& value) {
  if (value.is_null()) return "null";
  if (value.is_boolean()) return "boolean";
  if (value.is_string()) return "string";
  if (value.is_array()) return "array";
  if (value.is_object()) return "object";
  const bool whole = value.is_number_integer() || value.get<double>() == std::floor(value.get<double>());
  return whole ? "integer" : "number";
}

}  // namespace

Result<Expr> SchemaCompiler::compile_values(const Json& values, const Json& schema, const std::string& path) {
  const std::string keyword = schema.contains("const") ? "const" : "enum";
  if (!values.is_array()) return fail("{}: this must be a list of values", below(path, keyword));
  TERRACE_TRY(auto types, types_of(schema, path));
  if (!schema.contains("type")) types.clear();
  for (const auto& [key, value] : schema.items())
    if (is_about_values(key)) return fail("{}: this keyword beside '{}' is not supported", below(path, key), keyword);
  std::vector<Expr> ways;
  for (const Json& value : values) {
    const std::string type = type_of(value);
    const auto has = [&](const std::string& each) {
      return std::find(types.begin(), types.end(), each) != types.end();
    };
    if (!types.empty() && !has(type) && !(type == "integer" && has("number"))) continue;
    if (keyword == "const" && schema.contains("enum") &&
        std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
      continue;
    ways.push_back(json_.constant(value));
  }
  if (ways.empty()) return fail("{}: none of the values is possible", below(path, keyword));
  return builder_.choice(std::move(ways));
}

Result<Expr> SchemaCompiler::compile_string(const Json& schema, const std::string& path) {
  TERRACE_TRY(const auto min, read_count(schema, "minLength", path));
  TERRACE_TRY(const auto max, read_count(schema, "maxLength", path));
  if (max && *max < min.value_or(0)) return fail("{}: this is below minLength", below(path, "maxLength"));
  const bool has_pattern = schema.contains("pattern"), has_format = schema.contains("format");
  if (!has_pattern && !has_format) {
    if (min.value_or(0) == 0 && !max) return json_.string();
    const std::string name =
        fmt::format("#json string of {} to {}", min.value_or(0), max ? std::to_string(*max) : "any");
    if (!builder_.is_defined(name))
      builder_.define(name, builder_.sequence({builder_.plain("\""), json_.any_characters(min.value_or(0), max),
                                               builder_.plain("\"")}));
    return builder_.rule(name);
  }
  if (has_pattern && has_format) return fail("{}: 'pattern' beside 'format' is not supported", below(path, "pattern"));
  const char* keyword = has_pattern ? "pattern" : "format";
  const std::string place = below(path, keyword);
  if (!schema[keyword].is_string()) return fail("{}: this must be a string", place);
  std::string pattern = schema[keyword];
  if (has_format) {
    const auto known = format_pattern(pattern);
    if (!known) return fail("{}: the format '{}' is not supported", place, pattern);
    pattern = *known;
  }
  if (min.value_or(0) > 0 || max)
    return fail("{}: a length beside '{}' is not supported", below(path, max ? "maxLength" : "minLength"), keyword);
  const std::string name = "#json pattern " + pattern;
  if (!builder_.is_defined(name)) {
    const auto inside = compile_pattern(builder_, pattern);
    if (!inside) return fail("{}: {}", place, inside.error().message);
    builder_.define(name, builder_.sequence({builder_.plain("\""), *inside, builder_.plain("\"")}));
  }
  return builder_.rule(name);
}

Result<NumberBounds> SchemaCompiler::number_bounds(const Json& schema, const std::string& path) const {
  NumberBounds bounds;
  const auto read = [&](const char* keyword, std::optional<Decimal>& out) -> Status {
    const auto found = schema.find(keyword);
    if (found == schema.end()) return Done{};
    if (!found->is_number()) return fail("{}: this must be a number", below(path, keyword));
    auto value = Decimal::parse(found->dump());
    if (!value) return fail("{}: {}", below(path, keyword), value.error().message);
    out = *std::move(value);
    return Done{};
  };
  const auto flag = [&](const char* keyword) { return schema.value(keyword, Json(nullptr)).is_boolean(); };
  // Draft 4's exclusive bounds are flags beside the inclusive ones.
  TERRACE_CHECK(read("minimum", bounds.min));
  TERRACE_CHECK(read("maximum", bounds.max));
  if (flag("exclusiveMinimum")) {
    bounds.min_excluded = schema["exclusiveMinimum"] == true;
  } else if (schema.contains("exclusiveMinimum")) {
    const bool tighter = !schema.contains("minimum") || schema["exclusiveMinimum"] >= schema["minimum"];
    std::optional<Decimal> value;
    TERRACE_CHECK(read("exclusiveMinimum", value));
    if (tighter) bounds.min = std::move(value), bounds.min_excluded = true;
  }
  if (flag("exclusiveMaximum")) {
    bounds.max_excluded = schema["exclusiveMaximum"] == true;
  } else if (schema.contains("exclusiveMaximum")) {
    const bool tighter = !schema.contains("maximum") || schema["exclusiveMaximum"] <= schema["maximum"];
    std::optional<Decimal> value;
    TERRACE_CHECK(read("exclusiveMaximum", value));
    if (tighter) bounds.max = std::move(value), bounds.max_excluded = true;
  }
  return bounds;
}

Result<Expr> SchemaCompiler::compile_number(const Json& schema, bool integer, const std::string& path) {
  if (const auto multiple = schema.find("multipleOf"); multiple != schema.end()) {
    if (!multiple->is_number() || *multiple != 1)
      return fail("{}: multiples of anything but 1 cannot be expressed", below(path, "multipleOf"));
    integer = true;
  }
  TERRACE_TRY(const NumberBounds bounds, number_bounds(schema, path));
  if (!bounds.bounded()) return integer ? json_.integer() : json_.number();
  const auto texts = integer ? integers_within(builder_, bounds) : numbers_within(builder_, bounds);
  if (!texts) return fail("{}: no number lies between the bounds", path.empty() ? "the schema" : path);
  return *texts;
}

}  // namespace terrace::text
