// Lines of prompts that change with every request and would end the reuse of what follows them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/json.h"

namespace terrace::serve {

/// The names of the rules, one or more per client; docs/serve.md says what each does.
std::vector<std::string> volatile_line_rules();

/// Known lines at the top of system messages are dropped (attribution headers with a changing hash) or put at the end
/// of their message (clocks), in place; not by the rules in `keep`. Returns what was done, as sentences for the log.
std::vector<std::string> settle_volatile_lines(Json& messages, const std::set<std::string>& keep = {});

}  // namespace terrace::serve
