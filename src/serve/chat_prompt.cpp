// A chat request as a prompt, and where its beginning may be shared with other prompts.
#include <algorithm>

#include "serve/chat_request.h"
#include "serve/constraints.h"
#include "serve/volatile_lines.h"

namespace terrace::serve {
namespace {

/// A system prompt shorter than this is read again rather than kept.
constexpr size_t kLongSystemPrompt = 256;

struct Parts {
  Json messages;       ///< what the template renders
  std::string answer;  ///< the beginning of the answer, if the last message is one
};

Parts split(const Json& messages) {
  const Json& last = messages.back();
  const bool begins_answer = last.value("role", "") == "assistant" && last.contains("content") &&
                             last["content"].is_string() && !last.contains("tool_calls");
  if (!begins_answer) return {messages, ""};
  Parts parts{messages, last["content"].get<std::string>()};
  parts.messages.erase(parts.messages.size() - 1);
  return parts;
}

class Renderer {
 public:
  Renderer(const Service& service, const ChatRequest& request) : model_(service.model()) {
    variables_ = text::template_variables(model_.tokenizer());
    for (const auto& [name, value] : request.variables.items()) variables_[name] = value;
  }

  Result<text::PreparedChat> prepare(const Json& messages, const ChatRequest& request) const {
    const bool none = request.tool_choice == ChatRequest::ToolChoice::none;
    return text::prepare_chat(messages, none ? Json(nullptr) : request.tools, model_.format, model_.traits);
  }
  Result<std::string> render(const text::PreparedChat& chat, bool add_generation_prompt) const {
    text::ChatInput input;
    input.messages = chat.messages;
    if (chat.pass_tools) input.tools = chat.tools;
    input.add_generation_prompt = add_generation_prompt;
    input.extra = variables_;
    return model_.chat_template->render(input);
  }

 private:
  const ServedModel& model_;
  Json variables_;
};

/// How many of the tokens lie wholly in the first `bytes` of the text they stand for.
size_t tokens_within(const text::Tokenizer& tokenizer, std::span<const int32_t> tokens, size_t bytes) {
  size_t count = 0;
  for (size_t end = 0; count < tokens.size(); ++count) {
    end += tokenizer.token_bytes(tokens[count]).size();
    if (end > bytes) break;
  }
  return count;
}

size_t common_bytes(std::string_view a, std::string_view b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

/// The end of the system prompt, every so many tokens, and where this answer begins, which the next turn's prompt
/// shares whatever the template makes of the answer.
std::vector<size_t> checkpoints_of(const Service& service, const Renderer& renderer, const text::PreparedChat& chat,
                                   const RenderedChat& rendered) {
  const text::Tokenizer& tokenizer = service.model().tokenizer();
  const size_t last = rendered.tokens.size() - 1;  // one token is always read
  std::vector<size_t> positions;
  const auto add = [&](const Result<std::string>& beginning) {
    if (!beginning) return;  // some templates refuse a chat that is not whole
    const size_t position = tokens_within(tokenizer, rendered.tokens, common_bytes(*beginning, rendered.prompt));
    if (position >= kLongSystemPrompt && position < last) positions.push_back(position);
  };
  if (chat.messages.front().value("role", "") == "system") {
    text::PreparedChat system = chat;
    system.messages = Json::array({chat.messages.front()});
    add(renderer.render(system, false));
  }
  add(renderer.render(chat, false));
  for (size_t p = service.options().checkpoint_every; p < last; p += service.options().checkpoint_every)
    positions.push_back(p);
  positions.push_back(last);
  std::sort(positions.begin(), positions.end());
  positions.erase(std::unique(positions.begin(), positions.end()), positions.end());
  return positions;
}

}  // namespace

std::optional<Refusal> render(const Service& service, const ChatRequest& request, RenderedChat& into) {
  const ServedModel& model = service.model();
  if (!model.chat_template) {
    return Refusal{400,
                   "the model has no chat template, so it cannot chat; use /v1/completions, or start the server with "
                   "--chat-template FILE"};
  }
  if (request.messages.empty()) return Refusal{400, "is empty", "messages"};
  Json messages = request.messages;
  for (const std::string& note : settle_volatile_lines(messages, service.options().keep_volatile_lines))
    fmt::print(stderr, "terrace: {}\n", note);
  const Parts parts = split(messages);
  const Renderer renderer(service, request);
  const auto chat = renderer.prepare(parts.messages, request);
  if (!chat) return Refusal{400, chat.error().message};
  if (chat->messages.empty()) return Refusal{400, "holds nothing to be answered", "messages"};
  auto prompt = renderer.render(*chat, true);
  if (!prompt) return Refusal{400, "the chat template refuses these messages: " + prompt.error().message, "messages"};
  into.prompt = *std::move(prompt);
  if (!parts.answer.empty()) {
    if (text::begins_in_reasoning(model.format, into.prompt)) into.prompt += text::reasoning_end(model.format);
    into.prompt += parts.answer;
  }
  into.tokens = service.tokenize(into.prompt);
  into.tools = chat->tools;
  // Without recurrent layers any position can be gone back to.
  if (!into.tokens.empty() && model.engine->info().state_bytes > 0)
    into.checkpoints = checkpoints_of(service, renderer, *chat, into);
  return std::nullopt;
}

std::optional<Refusal> prepare(const Service& service, const ChatRequest& request, Submission& into) {
  const ServedModel& model = service.model();
  RenderedChat chat;
  if (auto refusal = render(service, request, chat)) return refusal;
  const auto prompt = std::make_shared<const std::string>(
      chat.prompt.substr(chat.prompt.size() - std::min<size_t>(chat.prompt.size(), 4096)));
  into.checkpoints = std::move(chat.checkpoints);
  into.prompts = {std::move(chat.tokens)};
  apply(request.generation, into);
  into.top_logprobs = request.top_logprobs;
  const bool calls =
      chat.tools.is_array() && !chat.tools.empty() && request.tool_choice != ChatRequest::ToolChoice::none;
  if (auto refusal = constrain_chat(service, request, chat, into)) return refusal;
  // Under a grammar, what follows the reasoning need not be content.
  const auto end = service.tokenize(text::reasoning_end(model.format, /*content_follows=*/!into.filter));
  const bool in_reasoning = text::begins_in_reasoning(model.format, *prompt);
  into.answer = [&model, prompt, calls, end, in_reasoning, tools = chat.tools, stop = request.generation.stop,
                 logprobs = request.logprobs, budget = request.reasoning_budget] {
    AnswerOptions options{stop, logprobs};
    options.parser.emplace(model.format, text::OutputOptions{tools, calls, *prompt});
    options.in_reasoning = in_reasoning;
    options.reasoning_budget = budget;
    options.reasoning_end = end;
    return options;
  };
  return std::nullopt;
}

}  // namespace terrace::serve
