// llama.cpp's grammar notation: https://github.com/ggml-org/llama.cpp/blob/master/grammars/README.md
#pragma once

#include <string_view>

#include "base/result.h"
#include "text/grammar/grammar.h"

namespace terrace::text {

/// Reads a grammar whose first rule is called `root`. Rule names may also have underscores. `<text>` stands for a token
/// of that text; tokens by number (`<[7]>`) and "any other token" (`!<text>`) are refused. Errors name line and column.
Result<Grammar> parse_gbnf(std::string_view source);

}  // namespace terrace::text
