// {"name": ..., "arguments": {...}}, one after another or in a list. The values are read by one ValueReader, which
// leaves compact, valid JSON; the members of a call are cut out of that.
#include <nlohmann/json.hpp>

#include "text/chat_format/call_block.h"
#include "text/chat_format/value_reader.h"

namespace terrace::text {
namespace {

using Json = nlohmann::ordered_json;

std::string json_string(const std::string& literal) {
  const Json value = Json::parse(literal, nullptr, false);
  return value.is_string() ? value.get<std::string>() : "";
}

// Arguments that are given as a string which holds an object, as that object; or the empty string.
std::string unwrapped(const std::string& literal) {
  std::string out;
  if (!read_value(ValueSyntax::json, json_string(literal), out) || !out.starts_with('{')) return "";
  return out;
}

class JsonCalls final : public CallBlock {
 public:
  JsonCalls(bool bare, CallSink& sink) : CallBlock(sink), bare_(bare) {}

  Step read(char c) override {
    if (between_) {
      if (is_call_space(c)) return Step::more;
      if (c == '{' || c == '[') {
        reader_ = ValueReader(ValueSyntax::json, ValueReader::Top::value);
        between_ = false;
      } else if (!any_) {
        return Step::broken;
      } else {
        if (c != ';' && c != ',') return Step::ended;
        settle();
        return Step::more;
      }
    }
    std::string out;
    const ValueReader::Step step = reader_.push(c, out);
    for (const char written : out) {
      if (!split(written)) return Step::broken;
    }
    if (step == ValueReader::Step::broken) return Step::broken;
    if (step == ValueReader::Step::done) {
      between_ = true;
      if (any_) settle();
    }
    return Step::more;
  }

  Step finish() override { return any_ && (between_ || !in_call_ || ended_) ? Step::ended : Step::broken; }

 private:
  // Takes the next byte of the valid JSON. The members of a call lie at `members_`, 1 or, in a list, 2.
  bool split(char c) {
    if (in_string_) {
      if (escaped_)
        escaped_ = false;
      else if (c == '\\')
        escaped_ = true;
      else if (c == '"')
        in_string_ = false;
      return keep(c);
    }
    if (c == '"') {
      in_string_ = true;
      return depth_ != members_ || in_call_ ? keep(c) : false;
    }
    if (c == '{' || c == '[') return open(c);
    if (c == '}' || c == ']') return close(c);
    if (depth_ == members_ && in_call_) {
      if (c == ':') {
        in_value_ = true;
        return known_member();
      }
      if (c == ',') return end_member();
    }
    if (depth_ < members_) return c == ',';
    return keep(c);
  }

  bool open(char c) {
    ++depth_;
    if (depth_ == 1) {
      members_ = c == '[' ? 2 : 1;
      if (c == '[') return true;
    }
    if (depth_ == members_) {
      if (c != '{') return false;
      begin_members();
      return true;
    }
    const bool first = in_value_ && depth_ == members_ + 1 && value_.empty();
    if (first && c == '{' && is_arguments() && !name_.empty()) {
      if (began_) return false;
      began_ = streaming_ = true;
      begin_call(name_);
    }
    return keep(c);
  }

  bool close(char c) {
    --depth_;
    if (depth_ >= members_) {
      if (!keep(c)) return false;
      if (depth_ == members_ && streaming_) {
        streaming_ = false;
        ended_ = any_ = true;
        end_call();
      }
      return true;
    }
    if (depth_ == members_ - 1 && in_call_) return end_member() && end_members();
    return true;
  }

  void begin_members() {
    in_call_ = true;
    began_ = ended_ = in_value_ = false;
    key_.clear();
    value_.clear();
    name_.clear();
    arguments_.clear();
  }

  bool keep(char c) {
    if (!in_call_) return false;
    if (streaming_)
      call_arguments(std::string_view(&c, 1));
    else
      (in_value_ ? value_ : key_) += c;
    return true;
  }

  bool is_arguments() const { return key_ == "\"arguments\"" || key_ == "\"parameters\""; }

  // A bare object with other members is an answer in JSON, not a call.
  bool known_member() const {
    return !bare_ || is_arguments() || key_ == "\"name\"" || key_ == "\"type\"" || key_ == "\"id\"";
  }

  bool end_member() {
    if (in_value_ && key_ == "\"name\"" && name_.empty()) {
      name_ = json_string(value_);
      if (name_.empty()) return false;
    } else if (in_value_ && is_arguments() && !ended_) {
      if (!arguments_.empty()) return false;
      arguments_ = value_ == "null" ? "{}" : value_.starts_with('"') ? unwrapped(value_) : value_;
      if (!arguments_.starts_with('{')) return false;
    } else if (in_value_ && is_arguments() && !value_.empty()) {
      return false;
    }
    in_value_ = false;
    key_.clear();
    value_.clear();
    return true;
  }

  bool end_members() {
    in_call_ = false;
    if (ended_) return settle(), true;
    if (name_.empty() || (arguments_.empty() && bare_)) return false;
    whole_call(name_, arguments_.empty() ? "{}" : arguments_);
    return ended_ = any_ = true;
  }

  bool bare_;
  ValueReader reader_{ValueSyntax::json, ValueReader::Top::value};
  bool between_ = true;  // outside of all brackets
  bool any_ = false;     // a call is whole
  int depth_ = 0, members_ = 1;
  bool in_string_ = false, escaped_ = false;
  bool in_call_ = false, in_value_ = false;
  bool began_ = false, streaming_ = false, ended_ = false;  // of the call that is being read
  std::string key_, value_, name_, arguments_;              // literals as they are written, but the name
};

}  // namespace

std::unique_ptr<CallBlock> make_json_calls(const ToolFormat& format, CallSink& sink) {
  return std::make_unique<JsonCalls>(format.bare, sink);
}

}  // namespace terrace::text
