// What `terrace --version` says: the version, the processor and the instruction sets it can use.
#pragma once

#include <string>

namespace terrace::cli {
std::string version_text();
}
