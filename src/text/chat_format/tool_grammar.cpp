#include "text/chat_format/tool_grammar.h"

#include <nlohmann/json.hpp>

#include "text/chat_format/call_expressions.h"
#include "text/grammar/lazy_constraint.h"

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

Expr spaces(GrammarBuilder& b) { return b.choice({b.empty(), b.plain("\n"), b.plain("\n\n")}); }

// The part up to the end of reasoning and the space after it: it must come if the prompt has begun it, and may come
// otherwise.
Expr reasoning(GrammarBuilder& b, const ChatFormat& format, std::string_view prompt, bool leading_space) {
  const ReasoningFormat& marks = format.reasoning;
  if (marks.opens.empty()) return b.empty();
  FreeText text;
  text.anywhere = marks.closes;
  text.control_tokens = true;
  std::vector<Expr> closes;
  for (const std::string& close : marks.closes) closes.push_back(b.literal(close));
  const Expr rest = b.sequence({b.free_text(text), b.choice(closes), spaces(b)});
  if (begins_in_reasoning(format, prompt)) return rest;
  const Expr space = leading_space ? spaces(b) : b.empty();
  return b.optional(b.sequence({space, b.literal(marks.opens.front()), rest}));
}

Expr harmony_analysis(GrammarBuilder& b) {
  return b.sequence(
      {b.literal("<|channel|>analysis<|message|>"), b.text_until({"<|end|>"}), b.literal("<|start|>assistant")});
}

class AnswerGrammar {
 public:
  AnswerGrammar(GrammarBuilder& builder, const ChatFormat& format, bool parallel)
      : b_(builder), format_(format), parallel_(parallel) {}

  Status add(const Json& tool) {
    const std::string name = tool["function"]["name"];
    auto call = call_expression(b_, format_.tools, tool["function"]);
    if (!call) return fail("tools: function {}: {}", name, call.error().message);
    names_.push_back(name);
    calls_.push_back(b_.make_rule(*call));
    return Done{};
  }

  Expr required(std::string_view prompt) {
    if (format_.harmony()) return b_.sequence({b_.optional(harmony_analysis(b_)), harmony_call(kChannelLine)});
    const Expr calls = format_.tools.bare ? b_.choice({block(), bare_calls(any_call())}) : block();
    return b_.sequence({reasoning(b_, format_, prompt, true), calls});
  }

  Expr automatic(std::string_view prompt) {
    if (format_.harmony()) {
      std::vector<Trigger> triggers;
      for (const std::string& begin : {kChannelLine, kAnalysisLine, kNextRoleLine}) {
        triggers.push_back({begin, harmony_call(begin), true});
      }
      triggers.push_back({kRoleLine, harmony_call(kRoleLine), false});
      return lazy(b_, triggers);
    }
    std::vector<Trigger> triggers = {{format_.tools.opens.front(), block(), format_.tools.token}};
    for (size_t i = 0; format_.tools.bare && i < calls_.size(); ++i) {
      triggers.push_back({bare_call_begin(format_.tools, names_[i]), bare_calls(calls_[i]), false});
    }
    return b_.sequence({reasoning(b_, format_, prompt, false), lazy(b_, triggers)});
  }

 private:
  // How messages to functions begin. The prompt ends with <|start|>assistant.
  inline static const std::string kChannelLine = "<|channel|>commentary to=functions.";
  inline static const std::string kAnalysisLine = "<|channel|>analysis to=functions.";
  inline static const std::string kRoleLine = " to=functions.";
  inline static const std::string kNextRoleLine = "<|start|>assistant to=functions.";

  Expr any_call() { return b_.choice(calls_); }

  // All calls with their marks.
  Expr block() {
    const ToolFormat& tools = format_.tools;
    const Expr open = b_.literal(tools.opens.front());
    const Expr close = tools.closes.empty() ? b_.empty() : b_.literal(tools.closes.front());
    if (tools.list || tools.syntax == CallSyntax::pythonic) {
      const Expr more = b_.repeat(b_.sequence({b_.plain(", "), any_call()}), 0);
      return b_.sequence({open, b_.plain("["), any_call(), parallel_ ? more : b_.empty(), b_.plain("]"), close});
    }
    if (tools.bare) return b_.sequence({open, bare_calls(any_call())});
    const bool lines = tools.syntax == CallSyntax::json || tools.syntax == CallSyntax::tags;
    const Expr line = lines ? b_.optional(b_.plain("\n")) : b_.empty();
    const Expr one = b_.make_rule(b_.sequence({open, line, any_call(), line, close}));
    return parallel_ ? b_.sequence({one, b_.repeat(b_.sequence({line, one}), 0)}) : one;
  }

  // Calls without marks, beginning with that one.
  Expr bare_calls(Expr first) {
    const Expr more = b_.repeat(b_.sequence({b_.plain("; "), any_call()}), 0);
    return b_.sequence({first, parallel_ ? more : b_.empty()});
  }

  Expr harmony_call(const std::string& begin) {
    const bool role_line = begin == kRoleLine || begin == kNextRoleLine;
    const Expr type =
        b_.choice({b_.empty(), b_.literal(" <|constrain|>json"), b_.literal("<|constrain|>json"), b_.plain(" json")});
    std::vector<Expr> messages;
    for (size_t i = 0; i < calls_.size(); ++i) {
      const Expr channel = role_line ? b_.literal("<|channel|>commentary") : b_.empty();
      messages.push_back(b_.sequence({b_.plain(names_[i]), channel, type, b_.literal("<|message|>"), calls_[i]}));
    }
    return b_.sequence({b_.literal(begin), b_.choice(messages)});
  }

  GrammarBuilder& b_;
  const ChatFormat& format_;
  bool parallel_;
  std::vector<std::string> names_;
  std::vector<Expr> calls_;
};

}  // namespace

Result<Expr> tool_expression(GrammarBuilder& builder, const ChatFormat& format, const Json& tools,
                             const ToolChoice& choice, std::string_view prompt) {
  if (!tools.is_array() || tools.empty()) return Error{"tool_choice: the request has no tools to choose from"};
  AnswerGrammar answer(builder, format, choice.parallel);
  bool any = false;
  for (const Json& tool : tools) {
    if (!choice.name.empty() && tool["function"]["name"] != choice.name) continue;
    TERRACE_CHECK(answer.add(tool));
    any = true;
  }
  if (!any) return fail("tool_choice: there is no function {} in tools", choice.name);
  return choice.required ? answer.required(prompt) : answer.automatic(prompt);
}

Result<Grammar> tool_grammar(const ChatFormat& format, const Json& tools, const ToolChoice& choice,
                             std::string_view prompt) {
  GrammarBuilder builder;
  TERRACE_TRY(const Expr answer, tool_expression(builder, format, tools, choice, prompt));
  return builder.build(answer);
}

namespace {

Status can_express(const ChatFormat& format, const Json& function) {
  GrammarBuilder builder;
  TERRACE_TRY(const Expr call, call_expression(builder, format.tools, function));
  TERRACE_CHECK(builder.build(call));
  return Done{};
}

}  // namespace

std::vector<std::string> relax_tools(const ChatFormat& format, Json& tools) {
  std::vector<std::string> relaxed;
  for (Json& tool : tools) {
    Json& function = tool["function"];
    if (function.value("strict", Json()) == true) continue;
    const Status possible = can_express(format, function);
    if (possible) continue;
    relaxed.push_back(fmt::format("function {}: {}", function["name"].get<std::string>(), possible.error().message));
    function["parameters"] = {{"type", "object"}};
  }
  return relaxed;
}

Expr content_expression(GrammarBuilder& builder, const ChatFormat& format, Expr content, std::string_view prompt) {
  if (format.harmony()) {
    return builder.sequence(
        {builder.optional(harmony_analysis(builder)), builder.literal("<|channel|>final<|message|>"), content});
  }
  return builder.sequence({reasoning(builder, format, prompt, true), content});
}

}  // namespace terrace::text
