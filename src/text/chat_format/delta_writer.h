// Collects what a parser finds as deltas, and takes white space away around marks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/chat_format/call_block.h"
#include "text/chat_format/output_parser.h"

namespace terrace::text {

/// White space at the end of a text waits for what follows: before a mark it is dropped, before text it is part of it.
/// Between two parts of the content, or of the reasoning, that something else parted, stands an empty line.
class DeltaWriter final : public CallSink {
 public:
  void content(std::string_view text) { write(content_, OutputDelta::Kind::content, text); }
  void reasoning(std::string_view text) { write(reasoning_, OutputDelta::Kind::reasoning, text); }
  /// A mark that parts the text: the spaces around it go.
  void part_content() { part(content_); }
  void part_reasoning() { part(reasoning_); }
  /// What follows is another message of the answer.
  void next_message();
  /// A mark that was taken out of the content: spaces stay, but not at the content's begin or end.
  void cut_content();

  void begin_call(std::string_view name) override;
  void call_arguments(std::string_view text) override;
  void end_call() override;

  /// The end: spaces that wait are content, unless they follow a mark.
  void finish();
  std::vector<OutputDelta> take() { return std::exchange(deltas_, {}); }

 private:
  struct Channel {
    std::string space;    ///< waits
    bool any = false;     ///< something was written
    bool begins = false;  ///< spaces at the front are dropped
    bool parted = false;  ///< something stood between this and what was written
    bool cut = false;     ///< no text since a mark was taken out
  };

  void write(Channel& channel, OutputDelta::Kind kind, std::string_view text);
  static void part(Channel& channel);
  void emit(OutputDelta::Kind kind, std::string_view text);

  Channel content_, reasoning_;
  int call_ = -1;
  std::vector<OutputDelta> deltas_;
};

}  // namespace terrace::text
