// <function=NAME> <parameter=KEY> VALUE </parameter> ... </function>, any number of times. Values have no quotes: their
// types come from the tools of the request. One line feed at each end belongs to the tags.
#include "text/chat_format/call_block.h"
#include "text/chat_format/value_reader.h"

namespace terrace::text {
namespace {

constexpr std::string_view kFunction = "<function=";
constexpr std::string_view kFunctionEnd = "</function>";
constexpr std::string_view kParameter = "<parameter=";
constexpr std::string_view kValueEnd = "</parameter>";
constexpr std::string_view kLineValueEnd = "\n</parameter>";

class TagCalls final : public CallBlock {
 public:
  TagCalls(const ToolList& tools, CallSink& sink) : CallBlock(sink), tools_(&tools) {}

  Step read(char c) override {
    if (in_value_) {
      read_value_byte(c);
      return Step::more;
    }
    if (tag_.empty() && is_call_space(c)) return Step::more;
    tag_ += c;
    if (!may_be_tag()) return any_ && function_.empty() ? Step::ended : Step::broken;
    return tag_.ends_with('>') ? end_tag() : Step::more;
  }

  // The end of a text inside a string adds to the string what could have been its end.
  Step finish() override {
    if (in_value_ && type_ == ParameterType::text && streaming_) {
      release(held_);
      held_.clear();
    }
    return any_ && function_.empty() && tag_.empty() ? Step::ended : Step::broken;
  }

 private:
  bool may_be_tag() const {
    const auto fits = [&](std::string_view begin, bool has_name) {
      if (tag_.size() <= begin.size()) return begin.starts_with(tag_);
      return has_name && tag_.starts_with(begin) && tag_.back() != '\n' && tag_.back() != '<';
    };
    if (function_.empty()) return fits(kFunction, true);
    return fits(kParameter, true) || fits(kFunctionEnd, false);
  }

  Step end_tag() {
    const std::string tag = std::exchange(tag_, "");
    if (tag == kFunctionEnd) {
      announce();
      call_arguments(first_ ? "{}" : "}");
      end_call();
      function_.clear();
      any_ = true;
      return Step::more;
    }
    const size_t begin = function_.empty() ? kFunction.size() : kParameter.size();
    std::string name = tag.substr(begin, tag.size() - begin - 1);
    if (name.empty()) return Step::broken;
    if (function_.empty()) {
      function_ = std::move(name);
      began_ = false;
      first_ = true;
      return Step::more;
    }
    key_ = std::move(name);
    type_ = tools_->type_of(function_, key_);
    in_value_ = at_begin_ = true;
    streaming_ = false;
    return Step::more;
  }

  void announce() {
    if (!began_) begin_call(function_);
    began_ = true;
  }

  void begin_parameter() {
    announce();
    std::string text = first_ ? "{\"" : ",\"";
    append_json_text(text, key_);
    call_arguments(text + "\":");
    first_ = false;
  }

  void read_value_byte(char c) {
    held_ += c;
    while (!held_.empty() && !kValueEnd.starts_with(held_) && !kLineValueEnd.starts_with(held_)) {
      release(std::string_view(held_).substr(0, 1));
      held_.erase(0, 1);
    }
    if (held_ == kValueEnd || held_ == kLineValueEnd) end_value();
  }

  void release(std::string_view text) {
    if (text.empty()) return;
    const bool skip = at_begin_ && text.front() == '\n';
    at_begin_ = false;
    if (skip) text.remove_prefix(1);
    if (type_ != ParameterType::text) {
      value_ += text;
      return;
    }
    begin_string();
    std::string escaped;
    append_json_text(escaped, text);
    if (!escaped.empty()) call_arguments(escaped);
  }

  void begin_string() {
    if (streaming_) return;
    begin_parameter();
    call_arguments("\"");
    streaming_ = true;
  }

  void end_value() {
    if (type_ == ParameterType::text) {
      begin_string();
      call_arguments("\"");
    } else {
      const std::string json = typed_value();
      begin_parameter();
      call_arguments(json);
    }
    held_.clear();
    value_.clear();
    in_value_ = false;
  }

  std::string typed_value() const {
    std::string json;
    if (read_value(ValueSyntax::json, value_, json)) return json;
    json.clear();
    if (type_ == ParameterType::value && read_value(ValueSyntax::python, value_, json)) return json;
    json = "\"";
    append_json_text(json, value_);
    return json + '"';
  }

  const ToolList* tools_;
  std::string tag_;       // as far as it is read
  std::string function_;  // whose call is being read
  std::string key_, value_;
  std::string held_;  // could be the end of the value
  ParameterType type_ = ParameterType::text;
  bool in_value_ = false, at_begin_ = false;
  bool streaming_ = false;  // the string's opening quote is sent
  bool began_ = false, first_ = true;
  bool any_ = false;  // a call is whole
};

}  // namespace

std::unique_ptr<CallBlock> make_tag_calls(const ToolList& tools, CallSink& sink) {
  return std::make_unique<TagCalls>(tools, sink);
}

}  // namespace terrace::text
