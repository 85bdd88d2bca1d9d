#include "text/chat_format/template_traits.h"

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
  return {{"id", id},
          {"type", "function"},
          {"function", {{"name", name}, {"arguments", std::move(arguments)}}}};
}

Json calling(Json calls) { return {{"role", "assistant"}, {"content", ""}, {"tool_calls", std::move(calls)}}; }

Json result(const char* id = kId) {
  return {{"role", "tool"}, {"tool_call_id", id}, {"name", kFunction}, {"content", kResult}};
}

class Prober {
 public:
  Prober(const ChatTemplate& chat_template, const Json& variables)
      : template_(&chat_template), variables_(&variables) {}

  // Whether the chat renders with all of these texts in it.
  bool writes(Json messages, std::initializer_list<const char*> texts, bool with_tools = false) const {
    ChatInput input;
    input.messages = std::move(messages);
    input.extra = *variables_;
    if (with_tools) input.tools = tools();
    const auto rendered = template_->render(input);
    if (!rendered) return false;
    for (const char* text : texts) {
      if (rendered->find(text) == std::string::npos) return false;
    }
    return true;
  }

 private:
  static Json tools() {
    return Json::array({{{"type", "function"},
                         {"function",
                          {{"name", kFunction},
                           {"description", "Probes."},
                           {"parameters",
                            {{"type", "object"},
                             {"properties", {{"key", {{"type", "string"}, {"description", "A key."}}}}}}}}}}});
  }

  const ChatTemplate* template_;
  const Json* variables_;
};

}  // namespace

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
