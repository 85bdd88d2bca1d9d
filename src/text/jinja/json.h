// JSON in and out: nlohmann's values to the template's, and Python's json.dumps().
#pragma once

#include <nlohmann/json.hpp>

#include "text/jinja/value.h"

namespace terrace::text::jinja {

/// Throws Failure for input nested deeper than kMaxValueDepth.
Value from_json(const nlohmann::ordered_json& json);

struct JsonStyle {
  bool ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  ///< of one level; none: everything on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

std::string to_json(const Value& value, const JsonStyle& style, Budget& budget);

}  // namespace terrace::text::jinja
