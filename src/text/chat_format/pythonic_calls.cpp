// [name(key='value', ...), ...], as in Python; the brackets around a single call may be missing.
#include <optional>

#include "text/chat_format/call_block.h"

namespace terrace::text {
namespace {

class PythonicCalls final : public CallBlock {
 public:
  using CallBlock::CallBlock;

  Step read(char c) override {
    if (reader_) return read_arguments(c);
    if (name_.empty()) return read_between(c);
    if (c == '(') {
      reader_.emplace(ValueSyntax::python, ValueReader::Top::keywords);
      began_ = false;
      return Step::more;
    }
    if (!is_function_name_char(c)) return Step::broken;
    name_ += c;
    return Step::more;
  }

  Step finish() override { return any_ && name_.empty() ? Step::ended : Step::broken; }

 private:
  Step read_between(char c) {
    if (is_call_space(c)) return Step::more;
    if (c == '[' && !list_ && !any_) {
      list_ = true;
      return Step::more;
    }
    if (closed_) return Step::ended;
    if (any_ && (c == ',' || c == ';')) return settle(), Step::more;
    if (c == ']' && list_ && any_) {
      closed_ = true;
      settle();
      return Step::more;
    }
    if (!is_function_name_char(c)) return any_ ? Step::ended : Step::broken;
    name_ = c;
    return Step::more;
  }

  Step read_arguments(char c) {
    const Step step = CallBlock::read_arguments(*reader_, c, name_, began_);
    if (step != Step::ended) return step;
    reader_.reset();
    name_.clear();
    any_ = true;
    return Step::more;
  }

  std::optional<ValueReader> reader_;
  std::string name_;
  bool list_ = false, closed_ = false;
  bool any_ = false;    // a call is whole
  bool began_ = false;  // the sink knows of the call that is being read
};

}  // namespace

std::unique_ptr<CallBlock> make_pythonic_calls(CallSink& sink) { return std::make_unique<PythonicCalls>(sink); }

}  // namespace terrace::text
