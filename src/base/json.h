// JSON that anybody may have written.
#pragma once

#include <nlohmann/json.hpp>
#include <string_view>

#include "base/result.h"

namespace terrace {

using Json = nlohmann::ordered_json;

/// Parses with bounded depth and without exceptions. `where`, if any, begins the error, as a path does.
Result<Json> parse_json(std::string_view text, std::string_view where = "");

/// On one line; bytes that are no UTF-8 become U+FFFD.
inline std::string json_line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace terrace
