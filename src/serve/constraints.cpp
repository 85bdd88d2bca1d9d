#include "serve/constraints.h"

#include <algorithm>

#include "text/chat_format/tool_grammar.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/json_schema.h"

namespace terrace::serve {
namespace {

/// What a grammar may learn about the vocabulary.
constexpr size_t kMemoBytes = size_t{16} << 20;

class GrammarFilter : public engine::TokenFilter {
 public:
  explicit GrammarFilter(const std::shared_ptr<const text::CompiledGrammar>& grammar)
      : constraint_(grammar), end_tokens_(grammar->vocabulary().end_tokens()) {}
  std::span<const uint64_t> allowed() override {
    const auto mask = constraint_.mask();
    if (constraint_.can_end()) return mask;
    // A token that ends the answer ends it inside of free text as well, whatever the grammar makes of its text.
    allowed_.assign(mask.begin(), mask.end());
    for (const int32_t end : end_tokens_) allowed_[static_cast<size_t>(end) / 64] &= ~(uint64_t{1} << (end % 64));
    const bool any = std::any_of(allowed_.begin(), allowed_.end(), [](uint64_t word) { return word != 0; });
    return any ? std::span<const uint64_t>(allowed_) : constraint_.mask();
  }
  void accept(int32_t token) override {
    // Only a forced token can be one that may not come; what follows it is nobody's grammar.
    if (!constraint_.accept(token)) left_ = true;
  }
  bool ended() override { return left_ || constraint_.must_end(); }

 private:
  text::Constraint constraint_;
  std::span<const int32_t> end_tokens_;
  std::vector<uint64_t> allowed_;
  bool left_ = false;
};

}  // namespace

namespace {

/// Compiles a grammar, unless a request had the same before, and makes the answer follow it.
template <class Compile>
std::optional<Refusal> follow(const Service& service, const std::string& key, Compile compile, const std::string& path,
                              Submission& submission) {
  GrammarStore& store = service.model().grammars;
  auto compiled = store.find(key);
  if (!compiled) {
    auto grammar = compile();
    if (!grammar) return Refusal{400, grammar.error().message, path};
    compiled =
        std::make_shared<const text::CompiledGrammar>(*std::move(grammar), service.model().vocabulary, kMemoBytes);
    store.put(key, compiled);
  }
  submission.filter = [compiled] { return std::make_unique<GrammarFilter>(compiled); };
  return std::nullopt;
}

}  // namespace

std::optional<Refusal> constrain(const Service& service, const GenerationFields& fields, Submission& submission) {
  if (!fields.grammar.empty() && fields.schema)
    return Refusal{400, "there can be a grammar or a json_schema, not both"};
  if (!fields.grammar.empty())
    return follow(
        service, "gbnf " + fields.grammar, [&] { return text::parse_gbnf(fields.grammar); }, "grammar", submission);
  if (!fields.schema) return std::nullopt;
  return follow(
      service, "schema " + json_line(*fields.schema), [&] { return text::json_schema_grammar(*fields.schema); },
      "json_schema", submission);
}

namespace {

/// What the answer may be: content of a schema, calls, or either.
Result<text::Grammar> chat_grammar(const text::ChatFormat& format, const ChatRequest& request, const RenderedChat& chat,
                                   const Json& tools) {
  using Choice = ChatRequest::ToolChoice;
  text::GrammarBuilder builder;
  const bool shaped = request.json_object || !request.schema.is_null();
  const bool calls = tools.is_array() && !tools.empty() && request.tool_choice != Choice::none;
  const bool must_call = request.tool_choice == Choice::required || request.tool_choice == Choice::named;
  // Beside content of a schema, a call is the other whole answer.
  const text::ToolChoice choice{must_call || shaped, request.tool_name, request.parallel_calls};
  std::vector<text::Expr> answers;
  if (calls) {
    TERRACE_TRY(answers.emplace_back(), text::tool_expression(builder, format, tools, choice, chat.prompt));
  }
  if (shaped && !must_call) {
    auto content =
        request.json_object ? Result<text::Expr>(builder.json_object()) : builder.json_schema(request.schema);
    if (!content) return fail("{}: {}", request.schema_path, content.error().message);
    answers.push_back(text::content_expression(builder, format, *content, chat.prompt));
  }
  return builder.build(builder.choice(answers));
}

/// Agents bring tools with schemas of all kinds: that one cannot be expressed refuses the request only if it is strict.
Result<text::Grammar> possible_chat_grammar(const text::ChatFormat& format, const ChatRequest& request,
                                            const RenderedChat& chat) {
  auto grammar = chat_grammar(format, request, chat, chat.tools);
  if (grammar) return grammar;
  Json tools = chat.tools;
  const auto relaxed = text::relax_tools(format, tools);
  if (relaxed.empty()) return grammar;
  for (const std::string& problem : relaxed)
    fmt::print(stderr, "terrace: {}; its arguments can be any JSON object\n", problem);
  return chat_grammar(format, request, chat, tools);
}

}  // namespace

std::optional<Refusal> constrain_chat(const Service& service, const ChatRequest& request, const RenderedChat& chat,
                                      Submission& submission) {
  using Choice = ChatRequest::ToolChoice;
  const bool shaped = request.json_object || !request.schema.is_null();
  const bool calls = chat.tools.is_array() && !chat.tools.empty() && request.tool_choice != Choice::none;
  if (!shaped && !calls) {
    if (request.tool_choice == Choice::required || request.tool_choice == Choice::named)
      return Refusal{400, "asks for a call, but there is no function in tools", "tool_choice"};
    return constrain(service, request.generation, submission);
  }
  if (!request.generation.grammar.empty() || request.generation.schema)
    return Refusal{400, "a grammar or json_schema cannot be followed together with response_format or tools"};
  Json key = {request.schema,
              request.json_object,
              chat.tools,
              request.tool_name,
              request.parallel_calls,
              calls,
              static_cast<int>(request.tool_choice),
              text::begins_in_reasoning(service.model().format, chat.prompt)};
  return follow(
      service, json_line(key), [&] { return possible_chat_grammar(service.model().format, request, chat); }, "",
      submission);
}

}  // namespace terrace::serve
