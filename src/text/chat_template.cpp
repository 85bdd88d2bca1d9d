#include "text/chat_template.h"

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

// As transformers prepares a message: members that are null are left out, since many templates print them as "None";
// and reasoning is given under each of the names that templates read it by.
Json prepare_message(const Json& message) {
  Json kept = Json::object();
  const Json* reasoning = nullptr;
  for (const char* name : {"reasoning_content", "thinking", "reasoning"}) {
    const auto at = message.find(name);
    if (at == message.end() || at->is_null()) continue;
    reasoning = &*at;
    kept["thinking"] = *reasoning;
    break;
  }
  for (const auto& [key, value] : message.items()) {
    if (!value.is_null()) kept[key] = value;
  }
  if (reasoning) kept["reasoning_content"] = *reasoning;
  return kept;
}

}  // namespace

Result<ChatTemplate> ChatTemplate::parse(std::string source) {
  TERRACE_TRY(jinja::Template parsed, jinja::Template::parse(std::move(source)));
  return ChatTemplate(std::move(parsed));
}

Result<std::string> ChatTemplate::render(const ChatInput& input, const jinja::RenderOptions& options) const {
  if (!input.messages.is_array()) return Error{"the messages of a chat must be a list"};
  if (!input.extra.is_object()) return Error{"the template's variables must be an object"};
  for (const Json* list : {&input.tools, &input.documents}) {
    if (!list->is_null() && !list->is_array()) return Error{"the tools and documents of a chat must be lists"};
  }
  Json context = input.extra;
  context["messages"] = Json::array();
  for (const Json& message : input.messages) {
    if (!message.is_object()) return Error{"each message of a chat must be an object"};
    context["messages"].push_back(prepare_message(message));
  }
  context["tools"] = input.tools;
  context["documents"] = input.documents;
  context["add_generation_prompt"] = input.add_generation_prompt;
  return template_.render(context, options);
}

Result<std::string> render_chat(std::string source, const ChatInput& input, const jinja::RenderOptions& options) {
  TERRACE_TRY(const ChatTemplate parsed, ChatTemplate::parse(std::move(source)));
  return parsed.render(input, options);
}

nlohmann::ordered_json template_variables(const Tokenizer& tokenizer) {
  const auto& vocabulary = tokenizer.vocabulary();
  nlohmann::ordered_json variables = nlohmann::ordered_json::object();
  const std::pair<const char*, std::optional<int32_t>> names[] = {{"bos_token", vocabulary.bos},
                                                                  {"eos_token", vocabulary.eos},
                                                                  {"unk_token", vocabulary.unk},
                                                                  {"pad_token", vocabulary.pad}};
  for (const auto& [name, id] : names) {
    if (id) variables[name] = vocabulary.tokens[static_cast<size_t>(*id)];
  }
  return variables;
}

}  // namespace terrace::text
