// Objects and arrays of JSON Schemas.
#include <algorithm>

#include "text/grammar/schema_compiler.h"
#include "text/unicode.h"

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kMaxListRules = 20'000;
constexpr size_t kMaxKeyNodes = 20'000;

bool is_open(const Json& schema) {
  const auto additional = schema.find("additionalProperties");
  if (additional != schema.end()) return *additional != false;
  return !schema.contains("properties");
}

}  // namespace

Result<Expr> SchemaCompiler::compile_object(const Json& schema, const std::string& path) {
  TERRACE_TRY(const Members members, object_members(schema, path));
  if (members.max && *members.max < members.min)
    return fail("{}: this is below minProperties", below(path, "maxProperties"));
  TERRACE_TRY(const Expr list, member_lists(members, path));
  return builder_.make_rule(builder_.sequence({builder_.plain("{"), json_.space(), list, builder_.plain("}")}));
}

Result<SchemaCompiler::Members> SchemaCompiler::object_members(const Json& schema, const std::string& path) {
  Members members;
  TERRACE_TRY(const auto min, read_count(schema, "minProperties", path));
  TERRACE_TRY(members.max, read_count(schema, "maxProperties", path));
  members.min = min.value_or(0);
  const Json properties = schema.value("properties", Json::object());
  const Json required = schema.value("required", Json::array());
  if (!properties.is_object()) return fail("{}: this must be an object", below(path, "properties"));
  if (!required.is_array()) return fail("{}: this must be a list of names", below(path, "required"));
  std::set<std::string> needed;
  for (const Json& name : required) {
    if (!name.is_string()) return fail("{}: this must be a list of names", below(path, "required"));
    needed.insert(name.get<std::string>());
  }
  for (const auto& [name, value] : properties.items()) {
    const bool is_needed = needed.contains(name);
    // A property that may not be there is left out.
    if (value == false && !is_needed) continue;
    TERRACE_TRY(const Expr below_it, compile_below(value, below(below(path, "properties"), name)));
    members.named.push_back({json_.member(json_.constant(name), builder_.make_rule(below_it)), is_needed});
  }
  for (const Json& name : required) {
    if (properties.contains(name.get<std::string>()) || needed.erase(name.get<std::string>()) == 0) continue;
    if (!is_open(schema))
      return fail("{}: '{}' is not among the properties, and others are not allowed", below(path, "required"),
                  name.get<std::string>());
    TERRACE_TRY(const Expr below_it,
                compile_below(schema.value("additionalProperties", Json(true)), below(path, "additionalProperties")));
    members.named.push_back({json_.member(json_.constant(name), builder_.make_rule(below_it)), true});
  }
  if (is_open(schema)) TERRACE_CHECK(add_additional(schema, path, members));
  return members;
}

Status SchemaCompiler::add_additional(const Json& schema, const std::string& path, Members& members) {
  TERRACE_TRY(const Expr value,
              compile_below(schema.value("additionalProperties", Json(true)), below(path, "additionalProperties")));
  std::set<std::string> names;
  const Json properties = schema.value("properties", Json::object()),
             required = schema.value("required", Json::array());
  for (const auto& [name, unused] : properties.items()) names.insert(name);
  for (const Json& name : required) names.insert(name.get<std::string>());
  if (const auto rule = schema.find("propertyNames"); rule != schema.end() && *rule != true) {
    const std::string place = below(path, "propertyNames");
    if (!names.empty()) return fail("{}: this keyword beside named properties is not supported", place);
    TERRACE_TRY(Json keys, flatten(*rule, place, 0));
    if (keys.is_object() && !keys.contains("type")) keys["type"] = "string";
    if (!keys.is_object() || keys["type"] != "string") return fail("{}: names are strings", place);
    TERRACE_TRY(const Expr key, compile_below(keys, place));
    members.additional = json_.member(key, builder_.make_rule(value));
    return Done{};
  }
  TERRACE_TRY(const Expr key, other_key(names, path));
  members.additional = json_.member(key, builder_.make_rule(value));
  return Done{};
}

// One rule for each place in the list and number of members so far, as far as that number matters: it decides about a
// comma, a minimum and a maximum.
Result<Expr> SchemaCompiler::member_lists(const Members& members, const std::string& path) {
  const auto count = static_cast<uint32_t>(members.named.size());
  const uint32_t most = std::min(std::max(1u, std::max(members.min, members.max.value_or(0))), count + 1);
  if (static_cast<size_t>(count + 1) * (most + 1) > kMaxListRules)
    return fail("{}: the object has too many properties for its minProperties or maxProperties",
                below(path, "properties"));
  std::vector<Expr> next;
  for (uint32_t written = 0; written <= most; ++written)
    next.push_back(builder_.make_rule(more_members(members, written)));
  for (uint32_t i = count; i-- > 0;) {
    std::vector<Expr> here;
    for (uint32_t written = 0; written <= most; ++written) {
      std::vector<Expr> ways;
      if (!members.max || written < *members.max) {
        const Expr comma = written > 0 ? json_.comma() : builder_.empty();
        ways.push_back(builder_.sequence({comma, members.named[i].expr, next[std::min(written + 1, most)]}));
      }
      if (!members.named[i].required) ways.push_back(next[written]);
      here.push_back(builder_.make_rule(builder_.choice(std::move(ways))));
    }
    next = std::move(here);
  }
  return next[0];
}

// The additional members after `written` named ones, and the white space before the brace.
Expr SchemaCompiler::more_members(const Members& members, uint32_t written) {
  const uint32_t min = members.min > written ? members.min - written : 0;
  std::optional<uint32_t> max;
  if (members.max) max = *members.max > written ? *members.max - written : 0;
  const Expr nothing = builder_.choice({});
  if (max && *max < min) return nothing;
  if (!members.additional || (max && *max == 0)) {
    if (min > 0) return nothing;
    return written > 0 ? json_.space() : builder_.empty();
  }
  const Expr another = builder_.sequence({json_.comma(), *members.additional});
  if (written > 0) return builder_.sequence({builder_.repeat(another, min, max), json_.space()});
  const uint32_t after_first = min > 0 ? min - 1 : 0;
  const Expr some = builder_.sequence(
      {*members.additional, builder_.repeat(another, after_first, max ? std::optional(*max - 1) : max), json_.space()});
  return min > 0 ? some : builder_.optional(some);
}

// A string with quotes that is none of the names: it leaves their tree at some character.
Result<Expr> SchemaCompiler::other_key(const std::set<std::string>& names, const std::string& path) {
  if (names.empty()) return json_.string();
  struct Node {
    std::map<uint32_t, size_t> children;
    bool is_name = false;
  };
  std::vector<Node> nodes(1);
  for (const std::string& name : names) {
    size_t node = 0;
    for (std::string_view rest = name; !rest.empty();) {
      const Utf8Step step = utf8_step(rest);
      if (step.kind != Utf8Step::Kind::valid)
        return fail("{}: a property's name is not UTF-8", below(path, "properties"));
      const auto [found, added] = nodes[node].children.emplace(utf8_decode(rest.substr(0, step.length)), nodes.size());
      node = found->second;
      if (added) nodes.emplace_back();
      rest.remove_prefix(step.length);
    }
    nodes[node].is_name = true;
    if (nodes.size() > kMaxKeyNodes) return fail("{}: the names are too long together", below(path, "properties"));
  }
  const std::vector<CodePoints> all = {{0, 0x10FFFF}};
  // Written in one way only, so that escapes cannot spell a name.
  const Expr end = builder_.plain("\"");
  const Expr anything = builder_.make_rule(builder_.sequence({builder_.repeat(json_.character(all), 0), end}));
  std::vector<Expr> rules(nodes.size());
  // Children have higher indices than their parents.
  for (size_t i = nodes.size(); i-- > 0;) {
    std::vector<Expr> ways;
    if (!nodes[i].is_name) ways.push_back(end);
    std::vector<CodePoints> known;
    for (const auto& [code, child] : nodes[i].children) {
      known.push_back({code, code});
      ways.push_back(builder_.sequence({json_.character({{code, code}}), rules[child]}));
    }
    ways.push_back(builder_.sequence({json_.character_except(known), anything}));
    rules[i] = builder_.make_rule(builder_.choice(std::move(ways)));
  }
  return builder_.sequence({builder_.plain("\""), rules[0]});
}

Result<Expr> SchemaCompiler::compile_array(const Json& schema, const std::string& path) {
  TERRACE_TRY(const auto least, read_count(schema, "minItems", path));
  TERRACE_TRY(const auto max, read_count(schema, "maxItems", path));
  const uint32_t min = least.value_or(0);
  if (max && *max < min) return fail("{}: this is below minItems", below(path, "maxItems"));

  // Draft 7 writes the first items as a list under `items`.
  const Json items = schema.value("items", Json(true));
  const char* first_keyword = items.is_array() ? "items" : "prefixItems";
  const char* rest_keyword = items.is_array() ? "additionalItems" : "items";
  const Json* first =
      schema.contains(first_keyword) && schema.at(first_keyword).is_array() ? &schema.at(first_keyword) : nullptr;
  const Json* rest = schema.contains(rest_keyword) ? &schema.at(rest_keyword) : nullptr;
  if (schema.contains("prefixItems") && !schema["prefixItems"].is_array())
    return fail("{}: this must be a list of schemas", below(path, "prefixItems"));

  std::vector<Expr> head;
  const size_t head_size = first ? std::min<size_t>(first->size(), max.value_or(UINT32_MAX)) : 0;
  for (size_t i = 0; i < head_size; ++i) {
    TERRACE_TRY(const Expr item, compile_below((*first)[i], below(path, first_keyword, i)));
    head.push_back(builder_.make_rule(item));
  }
  const auto count = static_cast<uint32_t>(head.size());
  const uint32_t tail_min = min > count ? min - count : 0;
  const bool closed = (rest && *rest == false) || (max && *max == count);
  if (closed && tail_min > 0) return fail("{}: fewer items are allowed", below(path, "minItems"));

  // From the last item to the first: what may follow after so many.
  Expr after = builder_.empty();
  if (!closed) {
    TERRACE_TRY(const Expr below_it,
                rest ? compile_below(*rest, below(path, rest_keyword)) : Result<Expr>(json_.value()));
    const Expr item = builder_.make_rule(below_it);
    std::optional<uint32_t> tail_max;
    if (max) tail_max = *max - count;
    const Expr another = builder_.sequence({json_.comma(), item});
    if (count > 0) {
      after = builder_.repeat(another, tail_min, tail_max);
    } else {
      if (tail_max) --*tail_max;
      after =
          builder_.sequence({item, builder_.repeat(another, tail_min > 0 ? tail_min - 1 : 0, tail_max), json_.space()});
      if (tail_min == 0) after = builder_.optional(after);
    }
  }
  for (uint32_t i = count; i-- > 0;) {
    std::vector<Expr> parts = {head[i], after};
    if (i > 0) parts.insert(parts.begin(), json_.comma());
    if (i == 0) parts.push_back(json_.space());
    after = builder_.sequence(std::move(parts));
    if (i >= min) after = builder_.make_rule(builder_.optional(after));
  }
  return builder_.make_rule(builder_.sequence({builder_.plain("["), json_.space(), after, builder_.plain("]")}));
}

}  // namespace terrace::text
