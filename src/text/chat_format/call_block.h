// Reads the calls that stand between a format's marks, byte by byte.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "text/chat_format/chat_format.h"
#include "text/chat_format/tool_list.h"
#include "text/chat_format/value_reader.h"

namespace terrace::text {

/// Is told of calls as they are read. What it gets as arguments is, between begin_call() and end_call(), a JSON object.
class CallSink {
 public:
  virtual ~CallSink() = default;
  virtual void begin_call(std::string_view name) = 0;
  virtual void call_arguments(std::string_view text) = 0;
  virtual void end_call() = 0;
};

/// One block of calls, from behind its opening mark.
class CallBlock {
 public:
  enum class Step {
    more,
    ended,   ///< the calls are whole, and this byte is none of theirs
    broken,  ///< with this byte it is no call, or no longer one; what was told of it stays
  };

  explicit CallBlock(CallSink& sink) : sink_(&sink) {}
  virtual ~CallBlock() = default;
  CallBlock(const CallBlock&) = delete;
  CallBlock& operator=(const CallBlock&) = delete;

  Step push(char byte);
  /// The end of the text or a control token: ended if the calls are whole as they are, else broken.
  virtual Step finish() = 0;
  /// What was read since the sink was last told something.
  std::string take_unsent() { return std::move(unsent_); }

 protected:
  virtual Step read(char byte) = 0;
  void begin_call(std::string_view name);
  void call_arguments(std::string_view text);
  void end_call();
  /// What was read belongs to whole calls.
  void settle() { unsent_.clear(); }
  void whole_call(std::string_view name, std::string_view arguments);
  /// A byte of a call's arguments: the call begins with the first of them that is certain, and ends with them. `began`
  /// is the caller's, false at first. Ended: the byte was the last one.
  Step read_arguments(ValueReader& reader, char byte, std::string_view name, bool& began);

 private:
  CallSink* sink_;
  std::string unsent_;
};

/// The block of a format. `name`: what the message before it said (harmony). `tools` must outlive the block.
std::unique_ptr<CallBlock> make_call_block(const ToolFormat& format, const ToolList& tools, CallSink& sink,
                                           std::string name = "");

std::unique_ptr<CallBlock> make_json_calls(const ToolFormat& format, CallSink& sink);
std::unique_ptr<CallBlock> make_tag_calls(const ToolList& tools, CallSink& sink);
std::unique_ptr<CallBlock> make_pythonic_calls(CallSink& sink);
std::unique_ptr<CallBlock> make_named_calls(CallSyntax syntax, std::string name, CallSink& sink);

inline bool is_call_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
/// What names of functions are made of. Other signs end a name or break a call.
bool is_function_name_char(char c);

}  // namespace terrace::text
