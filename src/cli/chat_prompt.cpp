#include "cli/chat_prompt.h"

namespace terrace::cli {

Result<text::ChatTemplate> chat_template_of(const format::GgufMetadata& metadata) {
  if (!metadata.contains("tokenizer.chat_template"))
    return fail("the model has no chat template; give one with --template, or use plain prompts");
  TERRACE_TRY(std::string source, metadata.string("tokenizer.chat_template"));
  return text::ChatTemplate::parse(std::move(source));
}

Result<std::vector<int32_t>> chat_tokens(const text::ChatTemplate& chat, const text::Tokenizer& tokenizer,
                                         const nlohmann::ordered_json& messages) {
  text::ChatInput input;
  input.messages = messages;
  input.extra = text::template_variables(tokenizer);
  TERRACE_TRY(const std::string rendered, chat.render(input));
  return tokenizer.encode(rendered, {.parse_special = true, .add_special = false});
}

}  // namespace terrace::cli
