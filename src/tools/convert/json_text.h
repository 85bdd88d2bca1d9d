// JSON of a checkpoint's files.
#pragma once

#include <string>

#include "base/json.h"

namespace terrace::tools {

/// The JSON of a file.
Result<Json> read_json(const std::string& path);

/// The string `object[key]`, or "" if there is none.
std::string json_text(const Json& object, const char* key);

}  // namespace terrace::tools
