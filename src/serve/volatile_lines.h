// Lines of prompts that change with every request and would end the reuse of what follows them.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"

namespace terrace::serve {

/// Known lines at the top of system messages are dropped (attribution headers with a changing hash) or put at the end
/// of their message (clocks), in place. docs/serve.md has the list. Returns what was done, as sentences for the log.
std::vector<std::string> settle_volatile_lines(Json& messages);

}  // namespace terrace::serve
