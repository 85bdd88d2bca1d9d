// How long work says how far it is; the command line draws it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace terrace::tools {

/// Called now and then, from one thread, with the bytes done so far, those of the whole, and what is at work (a
/// tensor's name). Returns false to stop: the work then ends with kInterrupted as its error, keeping what it needs to
/// be resumed.
using Progress = std::function<bool(uint64_t done, uint64_t total, std::string_view what)>;

inline constexpr std::string_view kInterrupted = "interrupted";

}  // namespace terrace::tools
