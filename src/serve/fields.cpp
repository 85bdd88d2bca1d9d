#include "serve/fields.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace terrace::serve {

std::string_view kind_of(const Json& value) {
  switch (value.type()) {
    case Json::value_t::null:
      return "null";
    case Json::value_t::object:
      return "an object";
    case Json::value_t::array:
      return "a list";
    case Json::value_t::string:
      return "a string";
    case Json::value_t::boolean:
      return "a boolean";
    default:
      return "a number";
  }
}

Fields::Fields(const Json& object, std::string path, std::optional<Refusal>& problem)
    : object_(object), path_(std::move(path)), problem_(problem) {
  if (!object.is_object()) serve::refuse(problem_, path_, fmt::format("must be an object, not {}", kind_of(object)));
}

const Json* Fields::find(const char* key) const {
  if (!object_.is_object()) return nullptr;
  const auto found = object_.find(key);
  return found == object_.end() || found->is_null() ? nullptr : &*found;
}

void Fields::refuse(const char* key, std::string message) const {
  serve::refuse(problem_, path(key), std::move(message));
}

void Fields::refuse_kind(const char* key, std::string_view wanted, const Json& found) const {
  refuse(key, fmt::format("must be {}, not {}", wanted, kind_of(found)));
}

void Fields::read(const char* key, bool& value) const {
  const Json* found = find(key);
  if (!found) return;
  if (!found->is_boolean()) return refuse_kind(key, "a boolean", *found);
  value = found->get<bool>();
}

void Fields::read(const char* key, std::string& value) const {
  const Json* found = find(key);
  if (!found) return;
  if (!found->is_string()) return refuse_kind(key, "a string", *found);
  value = found->get<std::string>();
}

void Fields::read(const char* key, double& value, double low, double high) const {
  const Json* found = find(key);
  if (!found) return;
  if (!found->is_number()) return refuse_kind(key, "a number", *found);
  const auto number = found->get<double>();
  if (!(number >= low && number <= high))
    return refuse(key, fmt::format("is {}; it must be from {} to {}", number, low, high));
  value = number;
}

void Fields::read(const char* key, int64_t& value, int64_t low, int64_t high) const {
  const Json* found = find(key);
  if (!found) return;
  if (!found->is_number()) return refuse_kind(key, "a whole number", *found);
  // Clients of dynamic languages send 5.0 for 5; what no 64 bits can hold is out of range anyway.
  const auto number = found->get<double>();
  if (std::floor(number) != number) return refuse(key, fmt::format("is {}; it must be a whole number", number));
  const bool fits = found->is_number_unsigned() ? found->get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX)
                                                : !found->is_number_float() || std::abs(number) < 9.2e18;
  const int64_t whole = !fits ? 0 : found->is_number_float() ? static_cast<int64_t>(number) : found->get<int64_t>();
  if (!fits || whole < low || whole > high) {
    if (high == INT64_MAX) return refuse(key, fmt::format("is {}; it must be at least {}", number, low));
    return refuse(key, fmt::format("is {}; it must be from {} to {}", number, low, high));
  }
  value = whole;
}

void Fields::read(const char* key, size_t& value, size_t low, size_t high) const {
  int64_t signed_value = 0;
  if (!has(key)) return;
  const bool had_problem = problem_.has_value();
  read(key, signed_value, static_cast<int64_t>(low), static_cast<int64_t>(std::min<size_t>(high, INT64_MAX)));
  if (problem_.has_value() == had_problem) value = static_cast<size_t>(signed_value);
}

void Fields::read_choice(const char* key, std::string& value, std::initializer_list<std::string_view> choices) const {
  if (!has(key)) return;
  std::string chosen;
  read(key, chosen);
  if (std::find(choices.begin(), choices.end(), chosen) == choices.end())
    return refuse(key, fmt::format("is '{}'; it must be one of: {}", chosen, fmt::join(choices, ", ")));
  value = std::move(chosen);
}

void Fields::read_strings(const char* key, std::vector<std::string>& values, size_t most) const {
  const Json* found = find(key);
  if (!found) return;
  if (found->is_string()) {
    values = {found->get<std::string>()};
    return;
  }
  if (!found->is_array()) return refuse_kind(key, "a string or a list of strings", *found);
  if (found->size() > most)
    return refuse(key, fmt::format("has {} entries; at most {} are possible", found->size(), most));
  values.clear();
  for (size_t i = 0; i < found->size(); ++i) {
    const Json& entry = (*found)[i];
    if (!entry.is_string())
      return serve::refuse(problem_, fmt::format("{}[{}]", path(key), i),
                           fmt::format("must be a string, not {}", kind_of(entry)));
    values.push_back(entry.get<std::string>());
  }
}

const Json* Fields::list(const char* key) const {
  const Json* found = find(key);
  if (found && !found->is_array()) refuse_kind(key, "a list", *found);
  return found && found->is_array() ? found : nullptr;
}

const Json* Fields::object(const char* key) const {
  const Json* found = find(key);
  if (found && !found->is_object()) refuse_kind(key, "an object", *found);
  return found && found->is_object() ? found : nullptr;
}

}  // namespace terrace::serve
