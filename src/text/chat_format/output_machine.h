// What OutputParser does, for its two kinds of answers.
#pragma once

#include <memory>
#include <string_view>

#include "text/chat_format/delta_writer.h"
#include "text/chat_format/output_parser.h"

namespace terrace::text {

class OutputParser::Machine {
 public:
  virtual ~Machine() = default;
  virtual void push(std::string_view piece) = 0;
  virtual void finish() = 0;
  DeltaWriter& writer() { return writer_; }

 private:
  DeltaWriter writer_;
};

/// Text with marks in it.
std::unique_ptr<OutputParser::Machine> make_marked_machine(const ChatFormat& format, const OutputOptions& options);
/// harmony: messages with headers.
std::unique_ptr<OutputParser::Machine> make_harmony_machine(const ChatFormat& format, const OutputOptions& options);

}  // namespace terrace::text
