// A chat, in OpenAI's form; the other chat APIs are brought into it.
#pragma once

#include "serve/generation_fields.h"

namespace terrace::serve {

struct ChatRequest {
  enum class ToolChoice { automatic, none, required, named };

  GenerationFields generation;
  Json messages = Json::array();
  Json tools = nullptr;
  ToolChoice tool_choice = ToolChoice::automatic;
  std::string tool_name;  ///< of the named one
  bool parallel_calls = true;
  bool json_object = false;         ///< the answer is any JSON object
  Json schema = nullptr;            ///< the answer is JSON of this schema
  std::string schema_path;          ///< where it stands in the request
  Json variables = Json::object();  ///< for the template: enable_thinking, reasoning_effort...
  std::optional<size_t> reasoning_budget;
  bool logprobs = false;
  size_t top_logprobs = 0;
};

/// Reads the body of /v1/chat/completions.
std::optional<Refusal> read_chat_request(const Json& body, const Service& service, ChatRequest& into);
/// Reads tools, tool_choice and parallel_tool_calls.
void read_tools(const Fields& fields, ChatRequest& into, std::optional<Refusal>& problem);
/// Reads chat_template_kwargs and reasoning_budget_tokens, which all chat APIs take.
void read_template_fields(const Fields& fields, ChatRequest& into);
/// OpenAI's reasoning_effort, as templates know it.
void set_reasoning_effort(const std::string& effort, ChatRequest& into);

/// A chat as a prompt.
struct RenderedChat {
  std::string prompt;
  std::vector<int32_t> tokens;
  std::vector<size_t> checkpoints;  ///< positions worth keeping
  Json tools = nullptr;             ///< in one shape
};

/// By the model's chat template. A last message of the role assistant is the beginning of the answer.
std::optional<Refusal> render(const Service& service, const ChatRequest& request, RenderedChat& into);

/// Renders the request and says how its answer is to be made and read.
std::optional<Refusal> prepare(const Service& service, const ChatRequest& request, Submission& into);

}  // namespace terrace::serve
