#include "text/chat_format/template_traits.h"

#include <algorithm>
#include <optional>

#include "text/chat_format/output_parser.h"

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFunction = "probe_function";
constexpr const char* kId = "probe0001";
constexpr const char* kLongId = "call_probe_0000000001";
constexpr const char* kResult = "probe result";
constexpr const char* kSystem = "probe system";
constexpr const char* kSecond = "second probe";

Json say(const char* role, const char* content) { return {{"role", role}, {"content", content}}; }

Json call(const char* name, Json arguments, const char* id = kId) {
  return {{"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", std::move(arguments)}}}};
}

Json calling(Json calls) { return {{"role", "assistant"}, {"content", ""}, {"tool_calls", std::move(calls)}}; }

Json result(const char* id = kId) {
  return {{"role", "tool"}, {"tool_call_id", id}, {"name", kFunction}, {"content", kResult}};
}

class Prober {
 public:
  Prober(const ChatTemplate& chat_template, const Json& variables)
      : template_(&chat_template), variables_(&variables) {}

  std::optional<std::string> render(Json messages, bool with_tools) const {
    ChatInput input;
    input.messages = std::move(messages);
    input.add_generation_prompt = false;
    input.extra = *variables_;
    if (with_tools) input.tools = tools();
    auto rendered = template_->render(input);
    if (!rendered) return std::nullopt;
    return *std::move(rendered);
  }

  // Whether the chat renders with all of these texts in it.
  bool writes(Json messages, std::initializer_list<const char*> texts, bool with_tools = false) const {
    const auto rendered = render(std::move(messages), with_tools);
    if (!rendered) return false;
    for (const char* text : texts) {
      if (rendered->find(text) == std::string::npos) return false;
    }
    return true;
  }

 private:
  static Json tools() {
    return Json::array(
        {{{"type", "function"},
          {"function",
           {{"name", kFunction},
            {"description", "Probes."},
            {"parameters",
             {{"type", "object"}, {"properties", {{"key", {{"type", "string"}, {"description", "A key."}}}}}}}}}}});
  }

  const ChatTemplate* template_;
  const Json* variables_;
};

// The text that a call adds to a chat, read by the format. A call without marks is not found that way, and is not
// looked for.
bool reads_calls(const ChatFormat& format, const Prober& prober) {
  if (format.tools.bare) return true;
  const Json user = say("user", "Hello");
  const auto before = prober.render(Json::array({user}), true);
  const auto after =
      prober.render(Json::array({user, calling(Json::array({call(kFunction, {{"key", "value"}})}))}), true);
  if (!before || !after) return true;
  const auto tail = std::ranges::mismatch(*after, *before).in1;
  const ParsedOutput output = parse_output(format, {}, std::string_view(tail, after->end()));
  return output.calls.size() == 1 && output.calls[0].name == kFunction && output.calls[0].complete;
}

}  // namespace

ChatStyle chat_style(const ChatTemplate& chat_template, std::string_view source, const Tokenizer* tokenizer,
                     const Json& variables) {
  ChatStyle style{recognize_format(source, tokenizer), probe_template(chat_template, source, variables)};
  const bool check = style.format.native_tools && style.traits.calls;
  if (check && !reads_calls(style.format, Prober(chat_template, variables))) use_generic_tools(style.format);
  return style;
}

TemplateTraits probe_template(const ChatTemplate& chat_template, std::string_view source, const Json& variables) {
  const Prober prober(chat_template, variables);
  const Json user = say("user", "Hello");
  const Json object = {{"key", "probe value"}};
  const Json unparsable = R"({"key": "probe value)";
  TemplateTraits traits;
  traits.developer = source.find("developer") != std::string_view::npos;
  traits.system = prober.writes({say("system", kSystem), user}, {kSystem});
  traits.several_systems = prober.writes({say("system", kSystem), say("system", kSecond), user}, {kSystem, kSecond});
  traits.tools = prober.writes(Json::array({user}), {kFunction}, true);
  const auto answers = [&](Json answer, const char* text, const char* id = kId) {
    return prober.writes(Json::array({user, std::move(answer), result(id)}), {text}, true);
  };
  const auto calls = [&](Json list, const char* text) { return answers(calling(std::move(list)), text); };
  const Json one = call(kFunction, object);
  traits.calls = calls(Json::array({one}), "probe value");
  Json answer = say("assistant", "Hi");
  if (traits.calls) {
    answer = calling(Json::array({one}));
    traits.several_calls = calls(Json::array({one, call("other_function", object)}), "other_function");
    traits.text_arguments = calls(Json::array({call(kFunction, unparsable)}), "probe value");
    traits.any_ids = answers(calling(Json::array({call(kFunction, object, kLongId)})), "probe value", kLongId);
    Json full = answer;
    full["content"] = "probe content";
    full["reasoning_content"] = "probe reasoning";
    traits.full_answers = answers(std::move(full), "probe value");
  }
  traits.results = answers(answer, kResult);
  return traits;
}

}  // namespace terrace::text
