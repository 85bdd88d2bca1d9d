#include "text/chat_format/output_parser.h"

#include "text/chat_format/output_machine.h"

namespace terrace::text {

OutputParser::OutputParser(const ChatFormat& format, const OutputOptions& options)
    : machine_(format.harmony() ? make_harmony_machine(format, options) : make_marked_machine(format, options)) {}
OutputParser::~OutputParser() = default;
OutputParser::OutputParser(OutputParser&&) noexcept = default;
OutputParser& OutputParser::operator=(OutputParser&&) noexcept = default;

std::vector<OutputDelta> OutputParser::push(std::string_view piece) {
  machine_->push(piece);
  return machine_->writer().take();
}

std::vector<OutputDelta> OutputParser::finish() {
  machine_->finish();
  machine_->writer().finish();
  return machine_->writer().take();
}

void ParsedOutput::add(const OutputDelta& delta) {
  switch (delta.kind) {
    case OutputDelta::Kind::reasoning:
      reasoning += delta.text;
      break;
    case OutputDelta::Kind::content:
      content += delta.text;
      break;
    case OutputDelta::Kind::call_begin:
      calls.push_back({delta.text, "", false});
      break;
    case OutputDelta::Kind::call_arguments:
      calls.back().arguments += delta.text;
      break;
    case OutputDelta::Kind::call_end:
      calls.back().complete = true;
      break;
  }
}

ParsedOutput parse_output(const ChatFormat& format, const OutputOptions& options, std::string_view text) {
  OutputParser parser(format, options);
  ParsedOutput output;
  for (const OutputDelta& delta : parser.push(text)) output.add(delta);
  for (const OutputDelta& delta : parser.finish()) output.add(delta);
  return output;
}

}  // namespace terrace::text
