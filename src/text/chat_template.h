// Messages to a prompt, by the chat template that came with a model, as transformers' apply_chat_template does it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/result.h"
#include "text/jinja/template.h"
#include "text/tokenizer.h"

namespace terrace::text {

struct ChatInput {
  nlohmann::ordered_json messages;             ///< a list of objects
  nlohmann::ordered_json tools = nullptr;      ///< a list, or null
  nlohmann::ordered_json documents = nullptr;  ///< a list, or null
  bool add_generation_prompt = true;
  nlohmann::ordered_json extra = nlohmann::ordered_json::object();  ///< bos_token, eos_token, enable_thinking...
};

/// A model's chat template, ready to render.
class ChatTemplate {
 public:
  static Result<ChatTemplate> parse(std::string source);
  Result<std::string> render(const ChatInput& input, const jinja::RenderOptions& options = {}) const;

 private:
  explicit ChatTemplate(jinja::Template parsed) : template_(std::move(parsed)) {}
  jinja::Template template_;
};

/// The texts of the special tokens, as templates know them: bos_token, eos_token, unk_token, pad_token.
nlohmann::ordered_json template_variables(const Tokenizer& tokenizer);

/// Both steps at once.
Result<std::string> render_chat(std::string source, const ChatInput& input, const jinja::RenderOptions& options = {});

}  // namespace terrace::text
