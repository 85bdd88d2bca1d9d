// A model's answer -> reasoning, content and tool calls, while it is being written.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "text/chat_format/chat_format.h"

namespace terrace::text {

/// A piece of the answer.
struct OutputDelta {
  enum class Kind { reasoning, content, call_begin, call_arguments, call_end };
  Kind kind;
  std::string text;  ///< of call_begin the function's name, of call_end nothing
  int call = -1;     ///< which call, counted from 0; -1 for reasoning and content
  bool operator==(const OutputDelta&) const = default;
};

struct OutputOptions {
  nlohmann::ordered_json tools = nullptr;  ///< of the request, as prepare_chat() returns them; types for values
  bool calls_allowed = true;               ///< false: what would be a call is content
  std::string_view prompt;                 ///< the rendered prompt, or its end: it may have begun the reasoning
};

/// Whatever the text is and however it is cut into pieces, the deltas are together the same, and:
/// - marks are not in them, and text is not lost: what is no whole call comes back as content, but for the part of a
///   call that was given out before it broke. White space around marks is dropped.
/// - the arguments of a call are together at every moment the beginning of a JSON object, and a whole one when its
///   call_end comes. A call without call_end was broken, or cut off at the end of the answer.
/// - calls come one after another: between call_begin and call_end there are only this call's arguments.
/// Time is linear in the text; memory holds only what is not decided. Not thread-safe.
class OutputParser {
 public:
  OutputParser(const ChatFormat& format, const OutputOptions& options);
  ~OutputParser();
  OutputParser(OutputParser&&) noexcept;
  OutputParser& operator=(OutputParser&&) noexcept;

  /// The next piece: whole UTF-8, control tokens written as their text, the end-of-generation token left out or not.
  std::vector<OutputDelta> push(std::string_view piece);
  /// The end of the answer. Nothing may be pushed after it.
  std::vector<OutputDelta> finish();

  class Machine;

 private:
  std::unique_ptr<Machine> machine_;
};

/// An answer as a whole.
struct ParsedOutput {
  struct Call {
    std::string name;
    std::string arguments;
    bool complete = false;  ///< false: the arguments are only the beginning of an object
  };
  std::string reasoning;
  std::string content;
  std::vector<Call> calls;

  void add(const OutputDelta& delta);
};
ParsedOutput parse_output(const ChatFormat& format, const OutputOptions& options, std::string_view text);

}  // namespace terrace::text
