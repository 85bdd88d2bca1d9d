#include "text/grammar/schema_merge.h"

#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

bool is_one_of(std::string_view key, std::initializer_list<std::string_view> keys) {
  for (const std::string_view each : keys)
    if (key == each) return true;
  return false;
}

Json as_list(const Json& value) { return value.is_array() ? value : Json::array({value}); }

bool contains(const Json& list, const Json& value) {
  for (const Json& each : list)
    if (each == value) return true;
  return false;
}

// Types that are in both, an integer being a number.
Json common_types(const Json& a, const Json& b) {
  Json out = Json::array();
  for (const Json& type : as_list(a)) {
    const bool both = contains(as_list(b), type) || (type == "integer" && contains(as_list(b), "number"));
    if (both) out.push_back(type);
    if (type == "number" && !both && contains(as_list(b), "integer")) out.push_back("integer");
  }
  return out;
}

Json common_values(const Json& a, const Json& b) {
  Json out = Json::array();
  for (const Json& value : a)
    if (contains(b, value)) out.push_back(value);
  return out;
}

Json both(const Json& a, const Json& b) { return a == b ? a : Json{{"allOf", Json::array({a, b})}}; }

Json merged_properties(const Json& a, const Json& b) {
  Json out = a;
  for (const auto& [name, schema] : b.items()) out[name] = out.contains(name) ? both(out[name], schema) : schema;
  return out;
}

// What a schema says of properties that it does not list must be said of those that only the other one lists.
Status check_other_properties(const Json& closed, const Json& other, const std::string& path) {
  const auto additional = closed.find("additionalProperties");
  if (additional == closed.end() || *additional == true || *additional == Json::object()) return Done{};
  const Json own = closed.value("properties", Json::object());
  const Json others = other.value("properties", Json::object());
  for (const auto& [name, schema] : others.items())
    if (!own.contains(name))
      return fail("{}: 'additionalProperties' of one part and property '{}' of another cannot be joined", path, name);
  return Done{};
}

Result<Json> merged_value(const std::string& key, const Json& a, const Json& b, const std::string& path) {
  if (a == b) return a;
  if (key == "type") return common_types(a, b);
  if (key == "properties" && a.is_object() && b.is_object()) return merged_properties(a, b);
  if (key == "enum" && a.is_array() && b.is_array()) return common_values(a, b);
  if (key == "required" && a.is_array() && b.is_array()) {
    Json out = a;
    for (const Json& name : b)
      if (!contains(out, name)) out.push_back(name);
    return out;
  }
  if (is_one_of(key, {"items", "additionalProperties", "additionalItems", "propertyNames"}) && !a.is_array() &&
      !b.is_array())
    return both(a, b);
  if (a.is_number() && b.is_number()) {
    if (is_one_of(key, {"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"})) return a < b ? b : a;
    if (is_one_of(key, {"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"})) return a < b ? a : b;
  }
  return fail("{}.{}: two different values that must both hold cannot be joined", path, key);
}

}  // namespace

bool is_annotation(const std::string& keyword) {
  return is_one_of(keyword, {"title", "description", "default", "example", "examples", "deprecated", "readOnly",
                             "writeOnly", "$comment", "$schema", "$id", "id", "$defs", "definitions"});
}

Result<Json> merge_schemas(const Json& a, const Json& b, const std::string& path) {
  if (a == true) return b;
  if (b == true) return a;
  if (a == false || b == false) return Json(false);
  if (!a.is_object() || !b.is_object()) return fail("{}: a schema is an object, true or false", path);
  TERRACE_CHECK(check_other_properties(a, b, path));
  TERRACE_CHECK(check_other_properties(b, a, path));
  Json out = a;
  for (const auto& [key, value] : b.items()) {
    if (is_annotation(key)) continue;
    if (out.contains(key)) {
      TERRACE_TRY(out[key], merged_value(key, a.at(key), value, path));
    } else {
      out[key] = value;
    }
  }
  return out;
}

}  // namespace terrace::text
