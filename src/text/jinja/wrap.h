// Python's textwrap.wrap() of one line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace terrace::text::jinja {

std::vector<std::string> wrap_line(std::string_view line, size_t width, bool break_long_words, bool break_on_hyphens);

}  // namespace terrace::text::jinja
