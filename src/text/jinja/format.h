// Python's two ways to format: "..." % values and "...".format(values).
#pragma once

#include <string>

#include "text/jinja/interpreter.h"

namespace terrace::text::jinja {

std::string format_percent(Interpreter& interpreter, const std::string& format, const Value& values);
std::string format_braces(Interpreter& interpreter, const std::string& format, const Arguments& arguments);

}  // namespace terrace::text::jinja
