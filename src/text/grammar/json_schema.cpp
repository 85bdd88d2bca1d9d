#include "text/grammar/json_schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "text/grammar/schema_compiler.h"
#include "text/grammar/schema_merge.h"

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kMaxDepth = 256;
constexpr size_t kMaxValues = 200'000;
constexpr size_t kMaxWork = 50'000;
constexpr uint32_t kMaxCount = 100'000;

// Without recursion, because it is what makes recursion safe: the number of values, or an error.
Result<size_t> measure(const Json& schema) {
  std::vector<std::pair<const Json*, int>> work = {{&schema, 1}};
  size_t values = 0;
  while (!work.empty()) {
    const auto [value, depth] = work.back();
    work.pop_back();
    if (depth > kMaxDepth) return fail("the schema is nested deeper than {} levels", kMaxDepth);
    if (++values > kMaxValues) return fail("the schema has more than {} values", kMaxValues);
    if (value->is_structured())
      for (const Json& child : *value) work.emplace_back(&child, depth + 1);
  }
  return values;
}

std::string shown(const std::string& path) { return path.empty() ? "the schema" : path; }

Status check_keywords(const Json& schema, const std::string& path) {
  static const std::set<std::string> unsupported = {
      "not",          "if",           "then",        "else",        "dependentRequired",     "dependentSchemas",
      "dependencies", "contains",     "minContains", "maxContains", "unevaluatedProperties", "unevaluatedItems",
      "$dynamicRef",  "$recursiveRef"};
  for (const auto& [key, value] : schema.items())
    if (unsupported.contains(key)) return fail("{}: this keyword cannot be expressed by a grammar", below(path, key));
  const auto patterns = schema.find("patternProperties");
  if (patterns != schema.end() && *patterns != Json::object())
    return fail("{}: this keyword cannot be expressed by a grammar", below(path, "patternProperties"));
  const auto unique = schema.find("uniqueItems");
  if (unique != schema.end() && *unique != false)
    return fail("{}: a grammar cannot compare items", below(path, "uniqueItems"));
  return Done{};
}

bool has_any(const Json& schema, std::initializer_list<const char*> keywords) {
  return std::any_of(keywords.begin(), keywords.end(), [&](const char* keyword) { return schema.contains(keyword); });
}

}  // namespace

Result<std::vector<std::string>> types_of(const Json& schema, const std::string& path) {
  static const std::set<std::string> known = {"null", "boolean", "string", "array", "object", "integer", "number"};
  std::vector<std::string> types;
  if (const auto type = schema.find("type"); type != schema.end()) {
    for (const Json& each : type->is_array() ? *type : Json::array({*type})) {
      if (!each.is_string() || !known.contains(each.get<std::string>()))
        return fail("{}: {} is not a type", below(path, "type"),
                    each.dump(-1, ' ', false, Json::error_handler_t::replace));
      types.push_back(each);
    }
    if (types.empty()) return fail("{}: no type is left that the value may have", below(path, "type"));
    // An integer is a number.
    if (std::find(types.begin(), types.end(), "number") != types.end()) std::erase(types, "integer");
  } else {
    if (has_any(schema,
                {"properties", "required", "additionalProperties", "minProperties", "maxProperties", "propertyNames"}))
      types.push_back("object");
    if (has_any(schema, {"items", "prefixItems", "minItems", "maxItems", "additionalItems"})) types.push_back("array");
    if (has_any(schema, {"minLength", "maxLength", "pattern", "format"})) types.push_back("string");
    if (has_any(schema, {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"}))
      types.push_back("number");
  }
  const bool nullable = schema.value("nullable", Json(false)) == true;
  if (nullable && !types.empty() && std::find(types.begin(), types.end(), "null") == types.end())
    types.push_back("null");
  return types;
}

std::string below(const std::string& path, std::string_view keyword) {
  return path.empty() ? std::string(keyword) : fmt::format("{}.{}", path, keyword);
}

std::string below(const std::string& path, std::string_view keyword, size_t index) {
  return fmt::format("{}[{}]", below(path, keyword), index);
}

Result<std::optional<uint32_t>> read_count(const Json& schema, const char* keyword, const std::string& path) {
  const auto found = schema.find(keyword);
  if (found == schema.end()) return std::optional<uint32_t>();
  const double value = found->is_number() ? found->get<double>() : -1;
  if (!(value >= 0) || value != std::floor(value))
    return fail("{}: a count must be a whole number that is not negative", below(path, keyword));
  if (value > kMaxCount) return fail("{}: counts above {} are not supported", below(path, keyword), kMaxCount);
  return std::optional(static_cast<uint32_t>(value));
}

Result<Expr> SchemaCompiler::compile_root() {
  TERRACE_CHECK(measure(root_));
  // The root can be referred to, also by itself.
  if (root_.is_object()) return compile_reference(Json("#"), "");
  return compile(root_, "");
}

Status SchemaCompiler::count_work(size_t work, const std::string& path) {
  work_ += work;
  if (work_ > kMaxWork) return fail("{}: the schema is too large once its references are followed", shown(path));
  return Done{};
}

Result<Expr> SchemaCompiler::compile_below(const Json& schema, const std::string& path) {
  std::set<std::string> open;
  open.swap(open_);
  auto result = compile(schema, path);
  open.swap(open_);
  return result;
}

Result<Expr> SchemaCompiler::compile(const Json& schema, const std::string& path) {
  if (schema == true) return json_.value();
  if (schema == false) return fail("{}: 'false' allows no value", shown(path));
  if (!schema.is_object()) return fail("{}: a schema is an object, true or false", shown(path));
  TERRACE_CHECK(count_work(1, path));
  if (depth_ >= kMaxDepth) return fail("{}: the schema is nested too deep", shown(path));
  ++depth_;
  auto result = compile_object_form(schema, path);
  --depth_;
  return result;
}

Result<Expr> SchemaCompiler::compile_object_form(const Json& schema, const std::string& path) {
  TERRACE_CHECK(check_keywords(schema, path));
  const auto reference = schema.find("$ref");
  const bool alone = std::all_of(schema.items().begin(), schema.items().end(),
                                 [](const auto& item) { return item.key() == "$ref" || is_annotation(item.key()); });
  if (reference != schema.end() && alone) return compile_reference(*reference, path);
  if (reference != schema.end() || schema.contains("allOf")) {
    TERRACE_TRY(Json merged, flatten(schema, path, 0));
    return compile_merged(std::move(merged), path);
  }
  for (const char* keyword : {"anyOf", "oneOf"})
    if (schema.contains(keyword)) return compile_alternatives(schema, keyword, path);
  if (const auto value = schema.find("const"); value != schema.end())
    return compile_values(Json::array({*value}), schema, path);
  if (const auto values = schema.find("enum"); values != schema.end()) return compile_values(*values, schema, path);
  TERRACE_TRY(const auto types, types_of(schema, path));
  if (types.empty()) return json_.value();
  std::vector<Expr> ways;
  for (const std::string& type : types) {
    TERRACE_TRY(const Expr way, compile_type(type, schema, path));
    ways.push_back(way);
  }
  return builder_.choice(std::move(ways));
}

Result<Expr> SchemaCompiler::compile_type(const std::string& type, const Json& schema, const std::string& path) {
  if (type == "null") return json_.null();
  if (type == "boolean") return json_.boolean();
  if (type == "string") return compile_string(schema, path);
  if (type == "object") return compile_object(schema, path);
  if (type == "array") return compile_array(schema, path);
  return compile_number(schema, type == "integer", path);
}

// What stands beside the alternatives holds for each of them.
Result<Expr> SchemaCompiler::compile_alternatives(const Json& schema, const std::string& keyword,
                                                  const std::string& path) {
  const Json& alternatives = schema.at(keyword);
  if (!alternatives.is_array() || alternatives.empty())
    return fail("{}: this must be a list of schemas, and not empty", below(path, keyword));
  Json beside = schema;
  beside.erase(keyword);
  const bool bare = std::all_of(beside.items().begin(), beside.items().end(), [](const auto& item) {
    return is_annotation(item.key()) || item.key() == "discriminator" || item.key() == "nullable";
  });
  std::vector<Expr> ways;
  if (bare && beside.value("nullable", Json(false)) == true) ways.push_back(json_.null());
  for (size_t i = 0; i < alternatives.size(); ++i) {
    const std::string place = below(path, keyword, i);
    if (bare) {
      TERRACE_TRY(const Expr way, compile(alternatives[i], place));
      ways.push_back(way);
      continue;
    }
    TERRACE_TRY(const Json other, flatten(alternatives[i], place, 0));
    TERRACE_TRY(Json merged, merge_schemas(beside, other, place));
    if (merged == false) continue;
    TERRACE_TRY(const Expr way, compile_merged(std::move(merged), place));
    ways.push_back(way);
  }
  if (ways.empty()) return fail("{}: no alternative is possible", below(path, keyword));
  return builder_.choice(std::move(ways));
}

// A joined schema that holds itself, such as a reference with something beside it, is one rule.
Result<Expr> SchemaCompiler::compile_merged(Json merged, const std::string& path) {
  for (const char* annotation : {"$defs", "definitions", "title", "description", "default", "examples"})
    if (merged.is_object()) merged.erase(annotation);
  const std::string key = merged.dump(-1, ' ', false, Json::error_handler_t::replace);
  const auto found = merged_.find(key);
  const std::string name = found != merged_.end() ? found->second : builder_.new_name(path);
  if (found == merged_.end()) {
    merged_[key] = name;
    open_.insert(name);
    TERRACE_TRY(const Expr body, compile(merged, path));
    open_.erase(name);
    builder_.define(name, body);
  } else if (open_.contains(name)) {
    return fail("{}: the schema refers to itself without anything in between", shown(path));
  }
  return builder_.rule(name);
}

Result<const SchemaCompiler::Json*> SchemaCompiler::resolve(const Json& reference, const std::string& path) const {
  const std::string place = below(path, "$ref");
  if (!reference.is_string()) return fail("{}: a reference is a string", place);
  std::string_view rest = reference.get_ref<const std::string&>();
  if (const auto id = root_.find("$id"); id != root_.end() && id->is_string() &&
                                         !id->get_ref<const std::string&>().empty() &&
                                         rest.starts_with(id->get_ref<const std::string&>()))
    rest.remove_prefix(id->get_ref<const std::string&>().size());
  if (!rest.empty() && !rest.starts_with('#'))
    return fail("{}: only references inside of the schema ('#/$defs/name') are supported", place);
  if (!rest.empty()) rest.remove_prefix(1);
  const Json* at = &root_;
  if (!rest.empty() && rest[0] != '/') return fail("{}: references to anchors are not supported", place);
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const std::string_view raw = rest.substr(0, std::min(rest.find('/'), rest.size()));
    rest.remove_prefix(raw.size());
    std::string step;
    for (size_t i = 0; i < raw.size(); ++i) {
      unsigned code = 0;
      if (raw[i] == '~' && i + 1 < raw.size() && (raw[i + 1] == '0' || raw[i + 1] == '1')) {
        step += raw[++i] == '0' ? '~' : '/';
      } else if (raw[i] == '%' && i + 2 < raw.size() &&
                 std::from_chars(&raw[i + 1], &raw[i + 1] + 2, code, 16).ptr == &raw[i + 1] + 2) {
        step += static_cast<char>(code);
        i += 2;
      } else {
        step += raw[i];
      }
    }
    size_t index = 0;
    const bool numeric =
        std::from_chars(step.data(), step.data() + step.size(), index).ptr == step.data() + step.size();
    if (at->is_object() && at->contains(step)) {
      at = &at->at(step);
    } else if (at->is_array() && !step.empty() && numeric && index < at->size()) {
      at = &(*at)[index];
    } else {
      return fail("{}: there is no '{}' in the schema", place, reference.get_ref<const std::string&>());
    }
  }
  return at;
}

Result<Expr> SchemaCompiler::compile_reference(const Json& reference, const std::string& path) {
  TERRACE_TRY(const Json* target, resolve(reference, path));
  const auto found = references_.find(target);
  if (found == references_.end()) {
    const std::string& text = reference.get_ref<const std::string&>();
    std::string place = text.substr(std::min(text.find('#') + 1, text.size()));
    if (place.starts_with('/')) place.erase(0, 1);
    std::replace(place.begin(), place.end(), '/', '.');
    const std::string name = builder_.new_name(text);
    references_[target] = name;
    open_.insert(name);
    TERRACE_TRY(const Expr body, compile(*target, place));
    open_.erase(name);
    builder_.define(name, body);
    return builder_.rule(name);
  }
  if (open_.contains(found->second))
    return fail("{}: the schema refers to itself without anything in between", below(path, "$ref"));
  return builder_.rule(found->second);
}

Result<SchemaCompiler::Json> SchemaCompiler::flatten(const Json& schema, const std::string& path, int depth) {
  if (depth > 32) return fail("{}: the schema refers to itself without anything in between", shown(path));
  if (!schema.is_object()) return schema;
  TERRACE_TRY(const size_t values, measure(schema));
  TERRACE_CHECK(count_work(1 + values / 64, path));
  TERRACE_CHECK(check_keywords(schema, path));
  Json out = schema;
  out.erase("$ref");
  out.erase("allOf");
  if (const auto reference = schema.find("$ref"); reference != schema.end()) {
    TERRACE_TRY(const Json* target, resolve(*reference, path));
    TERRACE_TRY(const Json flat, flatten(*target, below(path, "$ref"), depth + 1));
    TERRACE_TRY(out, merge_schemas(flat, out, shown(path)));
  }
  if (const auto parts = schema.find("allOf"); parts != schema.end()) {
    if (!parts->is_array()) return fail("{}: this must be a list of schemas", below(path, "allOf"));
    for (size_t i = 0; i < parts->size(); ++i) {
      TERRACE_TRY(const Json flat, flatten((*parts)[i], below(path, "allOf", i), depth + 1));
      TERRACE_TRY(out, merge_schemas(out, flat, below(path, "allOf", i)));
    }
  }
  return out;
}

Result<Expr> compile_json_schema(GrammarBuilder& builder, const Json& schema) {
  return SchemaCompiler(builder, schema).compile_root();
}

Result<Grammar> json_schema_grammar(const Json& schema) {
  GrammarBuilder builder;
  TERRACE_TRY(const Expr root, compile_json_schema(builder, schema));
  return builder.build(root);
}

}  // namespace terrace::text
