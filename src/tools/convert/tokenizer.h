// A checkpoint's tokenizer as the tokenizer.* keys of a GGUF.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/gguf.h"
#include "tools/convert/config.h"

namespace terrace::tools {

/// What a family's tokenizers have in common.
struct TokenizerForm {
  std::vector<std::string_view> names;    ///< of tokenizer.ggml.pre, preferred where several mean the same
  bool pieces = false;                    ///< merges over the whole text, spaces as U+2581 (model "gemma4")
  std::optional<bool> space_prefix;       ///< of add_space_prefix, whatever the files say
  std::vector<std::string_view> visible;  ///< control tokens that are shown when generated
};

/// Reads tokenizer.json or tokenizer.model, tokenizer_config.json and the chat template of `folder`. An error says what
/// is not supported, and what would help.
Status convert_tokenizer(const std::string& folder, const Config& config, const TokenizerForm& form,
                         format::GgufMetadata& metadata, std::vector<std::string>& notes);

}  // namespace terrace::tools
