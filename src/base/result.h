// Error construction and propagation on top of the public Result<T>.
#pragma once

#include <fmt/format.h>

#include "terrace/result.h"

namespace terrace {

/// An Error with a formatted message: fail("{}: no such file", path).
template <class... Args>
Error fail(fmt::format_string<Args...> format, Args&&... args) {
  return Error{fmt::format(format, std::forward<Args>(args)...)};
}

}  // namespace terrace

#define TERRACE_CONCAT_(a, b) a##b
#define TERRACE_CONCAT(a, b) TERRACE_CONCAT_(a, b)
/// TERRACE_TRY(auto x, f()): declares x from f()'s value, or returns f()'s error from the enclosing function.
#define TERRACE_TRY(declaration, expression)                                                \
  auto TERRACE_CONCAT(result_, __LINE__) = (expression);                                    \
  if (!TERRACE_CONCAT(result_, __LINE__)) return TERRACE_CONCAT(result_, __LINE__).error(); \
  declaration = *std::move(TERRACE_CONCAT(result_, __LINE__))
/// TERRACE_CHECK(f()): returns f()'s error, if any, from the enclosing function.
#define TERRACE_CHECK(expression) \
  if (auto status_ = (expression); !status_) return status_.error()
