#include "serve/chat_request.h"

#include <fmt/format.h>

namespace terrace::serve {
namespace {

constexpr size_t kMaximumMessages = 10000, kMaximumTools = 1024;

void read_tool_choice(const Fields& fields, ChatRequest& into, std::optional<Refusal>& problem) {
  using Choice = ChatRequest::ToolChoice;
  const Json* choice = fields.find("tool_choice");
  if (!choice) return;
  if (choice->is_string()) {
    std::string word;
    fields.read_choice("tool_choice", word, {"auto", "none", "required"});
    into.tool_choice = word == "none" ? Choice::none : word == "required" ? Choice::required : Choice::automatic;
  } else {
    // {"type": "function", "function": {"name"}}, or the name beside the type as the Responses API has it.
    const Fields named(*choice, fields.path("tool_choice"), problem);
    named.read("name", into.tool_name);
    if (const Json* function = named.object("function"))
      Fields(*function, named.path("function"), problem).read("name", into.tool_name);
    if (into.tool_name.empty())
      return fields.refuse("tool_choice", "must name a function, or be auto, none or required");
    into.tool_choice = Choice::named;
  }
  const bool needs_tools = into.tool_choice == Choice::required || into.tool_choice == Choice::named;
  if (needs_tools && (!into.tools.is_array() || into.tools.empty()))
    fields.refuse("tool_choice", "asks for a call, but there are no tools");
}

void read_response_format(const Fields& fields, ChatRequest& into, std::optional<Refusal>& problem) {
  const Json* found = fields.object("response_format");
  if (!found) return;
  const Fields format(*found, fields.path("response_format"), problem);
  std::string type;
  format.read_choice("type", type, {"text", "json_object", "json_schema"});
  if (type.empty()) return format.refuse("type", "is missing");
  if (type == "text") return;
  // llama.cpp's and Ollama's forms put the schema beside the type.
  const Json* schema = format.object("schema");
  into.schema_path = format.path("schema");
  if (const Json* outer = format.object("json_schema")) {
    const Fields named(*outer, format.path("json_schema"), problem);
    schema = named.object("schema");
    into.schema_path = named.path("schema");
  }
  if (schema) {
    into.schema = *schema;
  } else if (type == "json_schema") {
    format.refuse("json_schema", "must hold a schema");
  } else {
    into.json_object = true;
  }
}

void read_messages(const Fields& fields, ChatRequest& into, std::optional<Refusal>& problem) {
  const Json* messages = fields.list("messages");
  if (!messages) {
    if (!fields.has("messages")) fields.refuse("messages", "is missing");
    return;
  }
  if (messages->empty()) return fields.refuse("messages", "is empty");
  if (messages->size() > kMaximumMessages)
    return fields.refuse("messages",
                         fmt::format("has {} entries; at most {} are possible", messages->size(), kMaximumMessages));
  for (size_t i = 0; i < messages->size(); ++i) {
    std::string role;
    const Fields message((*messages)[i], fmt::format("messages[{}]", i), problem);
    message.read("role", role);
    if (role.empty()) message.refuse("role", "is missing");
  }
  into.messages = *messages;
}

}  // namespace

void set_reasoning_effort(const std::string& effort, ChatRequest& into) {
  if (effort == "none") {
    into.variables["enable_thinking"] = false;
  } else {
    into.variables["reasoning_effort"] = effort;
  }
}

void read_template_fields(const Fields& fields, ChatRequest& into) {
  if (const Json* given = fields.object("chat_template_kwargs")) into.variables.update(*given);
  fields.read("reasoning_budget_tokens", into.reasoning_budget, size_t{0}, size_t{1} << 30);
}

void read_tools(const Fields& fields, ChatRequest& into, std::optional<Refusal>& problem) {
  if (const Json* tools = fields.list("tools")) {
    if (tools->size() > kMaximumTools)
      return fields.refuse("tools",
                           fmt::format("has {} entries; at most {} are possible", tools->size(), kMaximumTools));
    for (size_t i = 0; i < tools->size(); ++i) {
      if (!(*tools)[i].is_object())
        refuse(problem, fmt::format("tools[{}]", i), fmt::format("must be an object, not {}", kind_of((*tools)[i])));
    }
    into.tools = *tools;
  }
  fields.read("parallel_tool_calls", into.parallel_calls);
  read_tool_choice(fields, into, problem);
}

std::optional<Refusal> read_chat_request(const Json& body, const Service& service, ChatRequest& into) {
  std::optional<Refusal> problem;
  const Fields fields(body, "", problem);
  read_generation_fields(fields, service, into.generation);
  read_messages(fields, into, problem);
  read_tools(fields, into, problem);
  read_response_format(fields, into, problem);
  read_template_fields(fields, into);
  std::string effort;
  fields.read("reasoning_effort", effort);
  if (!effort.empty()) set_reasoning_effort(effort, into);
  fields.read("logprobs", into.logprobs);
  fields.read("top_logprobs", into.top_logprobs, size_t{0}, size_t{20});
  if (into.top_logprobs > 0 && !into.logprobs && !problem) fields.refuse("top_logprobs", "needs logprobs to be true");
  return problem;
}

}  // namespace terrace::serve
