#include "tools/convert/config.h"

namespace terrace::tools {
namespace {

void move_default(Json& object, const char* key, const Json& from, const char* old_key) {
  if (!object.contains(key) && from.contains(old_key) && !from[old_key].is_null()) object[key] = from[old_key];
}

/// Files written before `rope_parameters` existed have `rope_scaling` and single keys.
void unite_rope_settings(Json& config) {
  Json rope = Json::object();
  for (const char* key : {"rope_parameters", "rope_scaling"}) {
    if (rope.empty() && config.contains(key) && config[key].is_object()) rope = config[key];
  }
  if (!rope.contains("full_attention")) {
    move_default(rope, "rope_theta", config, "rope_theta");
    move_default(rope, "rope_type", rope, "type");
    move_default(rope, "partial_rotary_factor", config, "partial_rotary_factor");
    move_default(rope, "original_max_position_embeddings", config, "original_max_position_embeddings");
    if (!rope.contains("sliding_attention") && config.contains("rope_local_base_freq"))
      rope["sliding_attention"] = {{"rope_theta", config["rope_local_base_freq"]}};
  }
  config["rope_parameters"] = std::move(rope);
}

}  // namespace

Result<Config> Config::parse(std::string_view text, std::string_view where) {
  TERRACE_TRY(Json json, parse_json(text, where));
  if (!json.is_object()) return fail("{}: not an object", where);
  if (json.contains("text_config") && json["text_config"].is_object()) {
    const Json inner = json["text_config"];
    for (const auto& [key, value] : inner.items()) {
      // The class of the whole names the family, not that of its part.
      if (key != "architectures" || !json.contains(key)) json[key] = value;
    }
  }
  unite_rope_settings(json);
  return Config(std::move(json), std::string(where));
}

const Json* Config::find(const char* key) const {
  const auto found = json_.find(key);
  return found == json_.end() || found->is_null() ? nullptr : &*found;
}

const char* Config::first_of(std::initializer_list<const char*> keys) const {
  for (const char* key : keys) {
    if (has(key)) return key;
  }
  return *keys.begin();
}

uint64_t Config::whole(const char* key, const Json& value, uint64_t least, uint64_t most) const {
  const bool fits = value.is_number_unsigned() && value.get<uint64_t>() >= least && value.get<uint64_t>() <= most;
  if (fits) return value.get<uint64_t>();
  refuse(fmt::format("'{}' is {}, not a whole number from {} to {}", key,
                     value.is_number() ? value.dump() : "no number", least, most));
  return least;
}

uint64_t Config::count(const char* key, uint64_t most) const {
  const Json* value = find(key);
  if (value) return whole(key, *value, 1, most);
  refuse(fmt::format("'{}' is missing", key));
  return 1;
}
uint64_t Config::count_or(const char* key, uint64_t fallback, uint64_t most) const {
  return has(key) ? count(key, most) : fallback;
}
uint64_t Config::count_or_none(const char* key, uint64_t most) const {
  const Json* value = find(key);
  return value ? whole(key, *value, 0, most) : 0;
}

std::optional<uint64_t> Config::plain_number(const char* key) const {
  const Json* value = find(key);
  if (!value || !value->is_number_unsigned()) return std::nullopt;
  return value->get<uint64_t>();
}

double Config::number(const char* key) const {
  const Json* value = find(key);
  if (value && value->is_number()) return value->get<double>();
  refuse(fmt::format("'{}' is {}", key, value ? "no number" : "missing"));
  return 1;
}
double Config::number_or(const char* key, double fallback) const { return has(key) ? number(key) : fallback; }

bool Config::flag(const char* key, bool fallback) const {
  const Json* value = find(key);
  if (!value) return fallback;
  if (!value->is_boolean()) refuse(fmt::format("'{}' is neither true nor false", key));
  return value->is_boolean() ? value->get<bool>() : fallback;
}

std::string Config::text(const char* key) const { return json_text(json_, key); }

std::vector<std::string> Config::texts(const char* key) const {
  std::vector<std::string> list;
  const Json* value = find(key);
  if (!value) return list;
  if (!value->is_array()) {
    refuse(fmt::format("'{}' is no list", key));
    return list;
  }
  for (const Json& item : *value) list.push_back(item.is_string() ? item.get<std::string>() : std::string());
  return list;
}

std::vector<uint64_t> Config::counts(const char* key) const {
  std::vector<uint64_t> list;
  const Json* value = find(key);
  if (!value) return list;
  if (!value->is_array()) return {whole(key, *value, 0, kMostValues)};
  for (const Json& item : *value) list.push_back(whole(key, item, 0, kMostValues));
  return list;
}

Config Config::section(const char* key) const {
  const Json* value = find(key);
  Config inner(value && value->is_object() ? *value : Json::object(), fmt::format("{}, in '{}'", where_, key));
  inner.problem_ = problem_;
  return inner;
}

std::vector<std::string> Config::keys() const {
  std::vector<std::string> names;
  for (const auto& [key, value] : json_.items()) names.push_back(key);
  return names;
}

void Config::add_default(const char* key, Json value) {
  if (!has(key)) json_[key] = std::move(value);
}

void Config::refuse(std::string what) const {
  if (problem_->empty()) *problem_ = fmt::format("{}: {}", where_, what);
}

Status Config::status() const {
  if (problem_->empty()) return Done{};
  return Error{*problem_};
}

}  // namespace terrace::tools
