// The functions that a request offers, and what their parameters are.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>

namespace terrace::text {

/// How a value is to be read that is written as text without quotes.
enum class ParameterType {
  text,    ///< a string, whatever it says
  either,  ///< JSON if it is JSON, else a string
  value,   ///< JSON or a Python literal if it is one, else a string
};

/// Looks up types in the tools of a request: [{"type": "function", "function": {"name", "parameters"}}]. Entries of any
/// other shape are passed over.
class ToolList {
 public:
  explicit ToolList(const nlohmann::ordered_json& tools);
  /// Unknown functions and parameters are `text`.
  ParameterType type_of(std::string_view function, std::string_view parameter) const;

 private:
  std::unordered_map<std::string, std::unordered_map<std::string, ParameterType>> functions_;
};

}  // namespace terrace::text
