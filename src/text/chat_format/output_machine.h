// What OutputParser does, for its two kinds of answers.
#pragma once

#include <memory>
#include <string>
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

 protected:
  /// Text of the answer, handed on in runs: before what is not text, and at the end of a piece.
  void add_text(std::string_view text) { run_ += text; }
  void release(bool reasoning) {
    if (run_.empty()) return;
    reasoning ? writer_.reasoning(run_) : writer_.content(run_);
    run_.clear();
  }

 private:
  DeltaWriter writer_;
  std::string run_;
};

/// Text with marks in it.
std::unique_ptr<OutputParser::Machine> make_marked_machine(const ChatFormat& format, const OutputOptions& options);
/// harmony: messages with headers.
std::unique_ptr<OutputParser::Machine> make_harmony_machine(const ChatFormat& format, const OutputOptions& options);

}  // namespace terrace::text
