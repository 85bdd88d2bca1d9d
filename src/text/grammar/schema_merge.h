// JSON Schemas that hold together, as one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/result.h"

namespace terrace::text {

/// The keyword says something about a schema that is not about instances: title, examples, $defs...
bool is_annotation(const std::string& keyword);

/// The schema that holds where both do. Fails if it cannot be written as one, naming `path`.
Result<nlohmann::ordered_json> merge_schemas(const nlohmann::ordered_json& a, const nlohmann::ordered_json& b,
                                             const std::string& path);

}  // namespace terrace::text
