#include "text/chat_format/call_block.h"

namespace terrace::text {

CallBlock::Step CallBlock::push(char byte) {
  unsent_ += byte;
  const Step step = read(byte);
  if (step != Step::more && !unsent_.empty()) unsent_.pop_back();
  return step;
}

void CallBlock::begin_call(std::string_view name) {
  unsent_.clear();
  sink_->begin_call(name);
}

void CallBlock::call_arguments(std::string_view text) {
  unsent_.clear();
  sink_->call_arguments(text);
}

void CallBlock::end_call() {
  unsent_.clear();
  sink_->end_call();
}

void CallBlock::whole_call(std::string_view name, std::string_view arguments) {
  begin_call(name);
  call_arguments(arguments);
  end_call();
}

CallBlock::Step CallBlock::read_arguments(ValueReader& reader, char byte, std::string_view name, bool& began) {
  std::string out;
  const ValueReader::Step step = reader.push(byte, out);
  if (!out.empty()) {
    if (!began) begin_call(name);
    began = true;
    call_arguments(out);
  }
  if (step == ValueReader::Step::broken) return Step::broken;
  if (step != ValueReader::Step::done) return Step::more;
  end_call();
  return Step::ended;
}

bool is_function_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         c == '.' || c == ':' || c == '/' || static_cast<unsigned char>(c) >= 0x80;
}

std::unique_ptr<CallBlock> make_call_block(const ToolFormat& format, const ToolList& tools, CallSink& sink,
                                           std::string name) {
  switch (format.syntax) {
    case CallSyntax::tags:
      return make_tag_calls(tools, sink);
    case CallSyntax::pythonic:
      return make_pythonic_calls(sink);
    case CallSyntax::gemma:
    case CallSyntax::mistral:
    case CallSyntax::harmony:
      return make_named_calls(format.syntax, std::move(name), sink);
    case CallSyntax::json:
    case CallSyntax::none:
      break;
  }
  return make_json_calls(format, sink);
}

}  // namespace terrace::text
