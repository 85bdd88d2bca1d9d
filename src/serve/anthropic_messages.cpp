#include "serve/anthropic_messages.h"

#include <fmt/format.h>

namespace terrace::serve {
namespace {

using Problem = std::optional<Refusal>;

/// The text of a string or of a list of text blocks.
std::string read_text_blocks(const Json& content, const std::string& path, Problem& problem) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) {
    if (!content.is_null())
      refuse(problem, path, fmt::format("must be a text or a list of blocks, not {}", kind_of(content)));
    return "";
  }
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    const Fields block(content[i], fmt::format("{}[{}]", path, i), problem);
    std::string type, part;
    block.read("type", type);
    if (type != "text") {
      block.refuse("type", fmt::format("is '{}'; this model takes text only", type));
      return text;
    }
    block.read("text", part);
    if (!text.empty()) text += "\n";
    text += part;
  }
  return text;
}

/// Appends what a user's turn says: results of tools, each a message of its own, and the text.
void add_user(const Json& content, const std::string& path, Json& messages, Problem& problem) {
  if (!content.is_array()) {
    messages.push_back({{"role", "user"}, {"content", read_text_blocks(content, path, problem)}});
    return;
  }
  std::string text;
  for (size_t i = 0; i < content.size(); ++i) {
    const Fields block(content[i], fmt::format("{}[{}]", path, i), problem);
    std::string type, part, id;
    block.read("type", type);
    if (type == "tool_result") {
      block.read("tool_use_id", id);
      if (id.empty()) block.refuse("tool_use_id", "is missing");
      if (const Json* result = block.find("content")) part = read_text_blocks(*result, block.path("content"), problem);
      messages.push_back({{"role", "tool"}, {"tool_call_id", id}, {"content", part}});
    } else if (type == "text") {
      block.read("text", part);
      if (!text.empty()) text += "\n";
      text += part;
    } else {
      block.refuse("type", fmt::format("is '{}'; this model takes text and tool_result here", type));
    }
  }
  if (!text.empty()) messages.push_back({{"role", "user"}, {"content", text}});
}

void add_assistant(const Json& content, const std::string& path, Json& messages, Problem& problem) {
  Json message = {{"role", "assistant"}};
  if (!content.is_array()) {
    message["content"] = read_text_blocks(content, path, problem);
    messages.push_back(std::move(message));
    return;
  }
  std::string text, thinking;
  Json calls = Json::array();
  for (size_t i = 0; i < content.size(); ++i) {
    const Fields block(content[i], fmt::format("{}[{}]", path, i), problem);
    std::string type, part;
    block.read("type", type);
    if (type == "text") {
      block.read("text", part);
      text += part;
    } else if (type == "thinking") {
      block.read("thinking", part);
      thinking += part;
    } else if (type == "tool_use") {
      std::string id, name;
      block.read("id", id);
      block.read("name", name);
      if (name.empty()) block.refuse("name", "is missing");
      const Json* input = block.object("input");
      calls.push_back({{"id", id},
                       {"type", "function"},
                       {"function", {{"name", name}, {"arguments", json_line(input ? *input : Json::object())}}}});
    } else if (type != "redacted_thinking") {
      block.refuse("type", fmt::format("is '{}'; an assistant's turn has text, thinking and tool_use", type));
    }
  }
  message["content"] = text;
  if (!thinking.empty()) message["reasoning_content"] = thinking;
  if (!calls.empty()) message["tool_calls"] = std::move(calls);
  messages.push_back(std::move(message));
}

void read_turns(const Fields& fields, Json& messages, Problem& problem) {
  const Json* turns = fields.list("messages");
  if (!turns && !fields.has("messages")) return fields.refuse("messages", "is missing");
  if (!turns) return;
  if (turns->empty()) return fields.refuse("messages", "is empty");
  for (size_t i = 0; i < turns->size(); ++i) {
    const std::string path = fmt::format("messages[{}]", i);
    const Fields turn((*turns)[i], path, problem);
    std::string role;
    turn.read_choice("role", role, {"user", "assistant", "system"});
    const Json* content = turn.find("content");
    if (role.empty()) {
      turn.refuse("role", "is missing");
    } else if (!content) {
      turn.refuse("content", "is missing");
    } else if (role == "user") {
      add_user(*content, turn.path("content"), messages, problem);
    } else if (role == "assistant") {
      add_assistant(*content, turn.path("content"), messages, problem);
    } else {
      messages.push_back({{"role", "system"}, {"content", read_text_blocks(*content, turn.path("content"), problem)}});
    }
  }
}

void read_tools_of(const Fields& fields, ChatRequest& into, Problem& problem) {
  const Json* tools = fields.list("tools");
  for (size_t i = 0; tools && i < tools->size(); ++i) {
    const Fields tool((*tools)[i], fmt::format("tools[{}]", i), problem);
    std::string type = "custom", name, description;
    tool.read("type", type);
    if (type != "custom") continue;  // a tool that Anthropic's servers run
    tool.read("name", name);
    tool.read("description", description);
    if (name.empty()) tool.refuse("name", "is missing");
    const Json* schema = tool.object("input_schema");
    if (into.tools.is_null()) into.tools = Json::array();
    into.tools.push_back(
        {{"type", "function"},
         {"function",
          {{"name", name},
           {"description", description},
           {"parameters", schema ? *schema : Json{{"type", "object"}, {"properties", Json::object()}}}}}});
  }
  const Json* choice = fields.object("tool_choice");
  if (!choice) return;
  using Choice = ChatRequest::ToolChoice;
  const Fields chosen(*choice, "tool_choice", problem);
  std::string type;
  bool one_at_a_time = false;
  chosen.read_choice("type", type, {"auto", "any", "tool", "none"});
  chosen.read("name", into.tool_name);
  chosen.read("disable_parallel_tool_use", one_at_a_time);
  into.parallel_calls = !one_at_a_time;
  into.tool_choice = type == "any"    ? Choice::required
                     : type == "tool" ? Choice::named
                     : type == "none" ? Choice::none
                                      : Choice::automatic;
  if (type == "tool" && into.tool_name.empty()) chosen.refuse("name", "is missing");
  if ((type == "any" || type == "tool") && into.tools.is_null())
    fields.refuse("tool_choice", "asks for a call, but there are no tools");
}

void read_thinking(const Fields& fields, ChatRequest& into, Problem& problem) {
  const Json* thinking = fields.object("thinking");
  if (!thinking) return;
  const Fields settings(*thinking, "thinking", problem);
  std::string type;
  settings.read_choice("type", type, {"enabled", "disabled", "adaptive"});
  settings.read("budget_tokens", into.reasoning_budget, size_t{0}, size_t{1} << 30);
  into.variables["enable_thinking"] = type != "disabled";
}

}  // namespace

std::optional<Refusal> read_messages_request(const Json& body, const Service& service, bool counting,
                                             ChatRequest& into) {
  Problem problem;
  const Fields fields(body, "", problem);
  read_generation_fields(fields, service, into.generation);
  if (const Json* system = fields.find("system"))
    into.messages.push_back({{"role", "system"}, {"content", read_text_blocks(*system, "system", problem)}});
  read_turns(fields, into.messages, problem);
  read_tools_of(fields, into, problem);
  read_template_fields(fields, into);
  read_thinking(fields, into, problem);
  if (!counting && !into.generation.max_tokens) fields.refuse("max_tokens", "is missing");
  into.generation.choices = 1;
  return problem;
}

}  // namespace terrace::serve
