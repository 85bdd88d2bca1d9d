// What a model's answers look like: how it marks its reasoning and its tool calls.
//
// Two descriptions that know nothing of each other. The output parser, the writer of past calls and the grammar of
// tool calls all read them, so that what may be generated is what is understood. A description is chosen by what the
// model's chat template says; docs/chat-formats.md has the table.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/tokenizer.h"

namespace terrace::text {

/// Marked reasoning. In each list the first entry is what is written, all entries are understood.
struct ReasoningFormat {
  std::vector<std::string> opens;    ///< empty: the model does not reason in marks
  std::vector<std::string> closes;   ///< as many or more
  std::vector<std::string> dropped;  ///< marks around the answer that are no part of it
};

enum class CallSyntax {
  none,      ///< the model writes no calls
  json,      ///< {"name": ..., "arguments": {...}}: Hermes, Qwen 3, Granite, Llama 3, older Mistral models
  tags,      ///< <function=NAME> <parameter=KEY> VALUE </parameter> </function>: Qwen 3 Coder, Qwen 3.5
  pythonic,  ///< [name(key='value'), ...]: LFM2
  gemma,     ///< call:name{key:<|"|>value<|"|>}: Gemma 4
  mistral,   ///< name[ARGS]{...}: newer Mistral models
  harmony,   ///< a message to=functions.NAME on a channel: gpt-oss. The whole answer is made of such messages
};

/// Marked tool calls.
struct ToolFormat {
  CallSyntax syntax = CallSyntax::none;
  std::vector<std::string> opens;           ///< before calls; the first is what is written
  std::vector<std::string> closes;          ///< after them; may be empty
  bool control = false;                     ///< the marks are control tokens, which are never part of a text
  bool token = false;                       ///< the opening mark is one token, which a text hardly contains by chance
  bool list = false;                        ///< json: all calls stand in one JSON list
  bool bare = false;                        ///< json: a call without a mark may be the whole answer
  std::string arguments_key = "arguments";  ///< json: what is written; "parameters" and "arguments" are understood
};

struct ChatFormat {
  std::string name;  ///< for logs: "think + qwen-xml"
  ReasoningFormat reasoning;
  ToolFormat tools;
  bool native_tools = false;  ///< the template tells the model about tools in the form it was trained on

  bool harmony() const { return tools.syntax == CallSyntax::harmony; }
};

/// The format of a model with this chat template and vocabulary. A template that knows nothing of tools, or has a form
/// that is not known here, gets Hermes' JSON form and native_tools = false: describe_tools() then tells the model.
ChatFormat recognize_format(std::string_view chat_template, const Tokenizer* tokenizer = nullptr);

/// Turns to Hermes' JSON form, with tools described by describe_tools().
void use_generic_tools(ChatFormat& format);

/// The text that ends open reasoning as the model would, after which the answer begins. Empty without reasoning. If
/// content need not follow, the text leaves it open whether content or calls do.
std::string reasoning_end(const ChatFormat& format, bool content_follows = true);

/// Whether the answer to a prompt that ends like this begins inside reasoning.
bool begins_in_reasoning(const ChatFormat& format, std::string_view prompt);

}  // namespace terrace::text
