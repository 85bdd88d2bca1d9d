// From messages to a prompt with the model's own template.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "format/gguf.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace terrace::cli {

/// The model's chat template; an error when the file has none.
Result<text::ChatTemplate> chat_template_of(const format::GgufMetadata& metadata);
/// Renders messages and tokenises the result, special tokens parsed. The template writes its own BOS.
Result<std::vector<int32_t>> chat_tokens(const text::ChatTemplate& chat, const text::Tokenizer& tokenizer,
                                         const nlohmann::ordered_json& messages);

}  // namespace terrace::cli
