// One call whose name stands before its object: call:name{...} (Gemma), name[ARGS]{...} (Mistral), and harmony's
// messages, whose header had the name.
#include <algorithm>
#include <optional>

#include "text/chat_format/call_block.h"

namespace terrace::text {
namespace {

constexpr std::string_view kGemma = "call:";
constexpr std::string_view kCallId = "[CALL_ID]";
constexpr std::string_view kArguments = "[ARGS]";
constexpr size_t kHeaderBytes = 512;

class NamedCalls final : public CallBlock {
 public:
  NamedCalls(CallSyntax syntax, std::string name, CallSink& sink)
      : CallBlock(sink), syntax_(syntax), name_(std::move(name)) {}

  Step read(char c) override {
    if (ended_) return is_call_space(c) ? Step::more : Step::ended;
    if (reader_) return read_arguments(c);
    if (c != '{') return header(c) ? Step::more : Step::broken;
    if (!end_header()) return Step::broken;
    if (syntax_ == CallSyntax::gemma) {
      reader_.emplace(ValueSyntax::gemma, ValueReader::Top::members);
      return Step::more;
    }
    reader_.emplace(ValueSyntax::json, ValueReader::Top::value);
    return read_arguments(c);
  }

  Step finish() override { return ended_ ? Step::ended : Step::broken; }

 private:
  bool header(char c) {
    if (is_call_space(c)) return header_.empty();
    if (syntax_ == CallSyntax::harmony) return false;
    header_ += c;
    if (syntax_ == CallSyntax::gemma) {
      if (header_.size() <= kGemma.size()) return kGemma.starts_with(header_);
      return is_function_name_char(c);
    }
    return header_.size() <= kHeaderBytes;
  }

  bool end_header() {
    if (syntax_ == CallSyntax::harmony) return !name_.empty();
    if (syntax_ == CallSyntax::gemma) {
      if (header_.size() <= kGemma.size()) return false;
      name_ = header_.substr(kGemma.size());
      return true;
    }
    std::string_view rest = header_;
    const size_t end = std::min(rest.find('['), rest.size());
    name_ = rest.substr(0, end);
    rest.remove_prefix(end);
    if (!rest.empty() && (!rest.ends_with(kArguments) || (rest != kArguments && !rest.starts_with(kCallId))))
      return false;
    return !name_.empty();
  }

  Step read_arguments(char c) {
    const Step step = CallBlock::read_arguments(*reader_, c, name_, began_);
    if (step != Step::ended) return step;
    ended_ = true;
    return Step::more;
  }

  CallSyntax syntax_;
  std::string name_;
  std::string header_;  // what stood before the object, white space in front aside
  std::optional<ValueReader> reader_;
  bool began_ = false, ended_ = false;
};

}  // namespace

std::unique_ptr<CallBlock> make_named_calls(CallSyntax syntax, std::string name, CallSink& sink) {
  return std::make_unique<NamedCalls>(syntax, std::move(name), sink);
}

}  // namespace terrace::text
