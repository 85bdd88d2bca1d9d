// JSON of a checkpoint's files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace terrace::tools {

using Json = nlohmann::ordered_json;

/// Parses text that anybody may have written: bounded depth, no exceptions. `where` begins the error, as a path does.
Result<Json> parse_json(std::string_view text, std::string_view where);
/// The same with a file's text.
Result<Json> read_json(const std::string& path);

/// The string `object[key]`, or "" if there is none.
std::string json_text(const Json& object, const char* key);

}  // namespace terrace::tools
