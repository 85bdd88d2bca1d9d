#include "text/chat_format/value_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace terrace::text {
namespace {

constexpr size_t kDepth = 256;
constexpr std::string_view kMark = "<|\"|>";  // begins and ends Gemma's strings
constexpr char kMarkQuote = '<';

bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_digit(c) || is_letter(c) || c == '+' || c == '-' || c == '.'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

void append_json_char(std::string& out, char c) {
  if (c == '"' || c == '\\') {
    out += '\\';
    out += c;
  } else if (c == '\n') {
    out += "\\n";
  } else if (static_cast<unsigned char>(c) < 0x20) {
    out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
  } else {
    out += c;
  }
}

// The digits of JSON's number: -?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?
bool is_json_number(std::string_view word) {
  size_t at = word.starts_with('-') ? 1 : 0;
  const auto digits = [&] {
    const size_t begin = at;
    while (at < word.size() && is_digit(word[at])) ++at;
    return at - begin;
  };
  const bool zero = at < word.size() && word[at] == '0';
  const size_t whole = digits();
  if (whole == 0 || (zero && whole > 1)) return false;
  if (at < word.size() && word[at] == '.') {
    ++at;
    if (digits() == 0) return false;
  }
  if (at < word.size() && (word[at] == 'e' || word[at] == 'E')) {
    ++at;
    if (at < word.size() && (word[at] == '+' || word[at] == '-')) ++at;
    if (digits() == 0) return false;
  }
  return at == word.size();
}

// Python's other spellings as JSON's: +1, .5, 1., 1_000.
std::string python_number(std::string_view word) {
  std::string out;
  if (word.starts_with('+')) word.remove_prefix(1);
  for (size_t i = 0; i < word.size(); ++i) {
    const bool after_digit = i > 0 && is_digit(word[i - 1]);
    const bool before_digit = i + 1 < word.size() && is_digit(word[i + 1]);
    if (word[i] == '_' && after_digit && before_digit) continue;
    if (word[i] == '.' && !after_digit) out += '0';
    out += word[i];
    if (word[i] == '.' && !before_digit) out += '0';
  }
  return out;
}

// A number or a literal as JSON; empty if it is neither.
std::string json_word(ValueSyntax syntax, std::string_view word) {
  if (word == "true" || word == "false" || word == "null" || is_json_number(word)) return std::string(word);
  if (syntax == ValueSyntax::json) return "";
  if (word == "True") return "true";
  if (word == "False") return "false";
  if (word == "None") return "null";
  std::string number = python_number(word);
  return is_json_number(number) ? number : "";
}

}  // namespace

void append_utf8(std::string& out, uint32_t code) {
  const auto tail = [&](int shift) { out += static_cast<char>(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    out += static_cast<char>(0xF0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

void append_json_text(std::string& out, std::string_view text) {
  for (const char c : text) append_json_char(out, c);
}

bool read_value(ValueSyntax syntax, std::string_view text, std::string& out) {
  ValueReader reader(syntax, ValueReader::Top::value);
  bool done = false;
  for (const char c : text) {
    if (done && !is_space(c)) return false;
    if (done) continue;
    const ValueReader::Step step = reader.push(c, out);
    if (step == ValueReader::Step::broken) return false;
    done = step == ValueReader::Step::done;
  }
  return done || reader.finish(out) == ValueReader::Step::done;
}

ValueReader::ValueReader(ValueSyntax syntax, Top top) : syntax_(syntax), state_(State::value) {
  if (top == Top::members) open({'}', true, ':'}, '{');
  if (top == Top::keywords) open({')', true, '='}, '{');
}

ValueReader::Step ValueReader::push(char c, std::string& out) {
  if (state_ == State::string) return string_byte(c, out);
  if (state_ == State::bare_name) return bare_name(c);
  if (state_ == State::mark) {
    if (c != kMark[mark_]) return Step::broken;
    if (++mark_ < kMark.size()) return Step::more;
    begin_string(kMarkQuote, in_name_, out);
    return Step::more;
  }
  if (state_ == State::word) {
    if (is_word(c)) return word_ += c, Step::more;
    if (!end_word(out)) return Step::broken;
  }
  if (is_space(c)) return Step::more;
  const bool may_close = state_ == State::first_value || state_ == State::first_name || state_ == State::after ||
                         (comma_ && syntax_ == ValueSyntax::python);
  if (may_close && !frames_.empty() && c == frames_.back().close) return close(out);
  switch (state_) {
    case State::after:
      return after_value(c, out);
    case State::name:
    case State::first_name:
      return begin_name(c);
    case State::separator:
      if (c != frames_.back().separator) return Step::broken;
      pending_ += ':';
      state_ = State::value;
      return Step::more;
    default:
      return begin_value(c, out);
  }
}

ValueReader::Step ValueReader::finish(std::string& out) {
  if (quoted_) end_string(in_name_ ? pending_ : out);
  if (state_ == State::word && !end_word(out)) return Step::broken;
  return frames_.empty() && state_ == State::after ? Step::done : Step::broken;
}

ValueReader::Step ValueReader::after_value(char c, std::string&) {
  if (frames_.empty() || c != ',') return Step::broken;
  comma_ = true;
  state_ = frames_.back().members ? State::name : State::value;
  return Step::more;
}

void ValueReader::begin_item() {
  if (comma_) pending_ += ',';
  comma_ = false;
}

void ValueReader::flush(std::string& out) {
  out += pending_;
  pending_.clear();
}

bool ValueReader::open(Frame frame, char bracket) {
  if (frames_.size() >= kDepth) return false;
  frames_.push_back(frame);
  pending_ += bracket;
  state_ = frame.members ? State::first_name : State::first_value;
  return true;
}

ValueReader::Step ValueReader::close(std::string& out) {
  comma_ = false;
  flush(out);
  out += frames_.back().members ? '}' : ']';
  frames_.pop_back();
  return whole_value();
}

ValueReader::Step ValueReader::whole_value() {
  state_ = State::after;
  return frames_.empty() ? Step::done : Step::more;
}

ValueReader::Step ValueReader::begin_value(char c, std::string& out) {
  const bool python = syntax_ == ValueSyntax::python;
  begin_item();
  in_name_ = false;
  if (c == '"' || (python && c == '\'')) return begin_string(c, false, out), Step::more;
  if (c == '{') return open({'}', true, ':'}, '{') ? Step::more : Step::broken;
  if (c == '[') return open({']', false, 0}, '[') ? Step::more : Step::broken;
  if (c == '(' && python) return open({')', false, 0}, '[') ? Step::more : Step::broken;
  if (c == kMark[0] && syntax_ == ValueSyntax::gemma) {
    mark_ = 1;
    state_ = State::mark;
    return Step::more;
  }
  if (!is_word(c)) return Step::broken;
  word_ = c;
  state_ = State::word;
  return Step::more;
}

ValueReader::Step ValueReader::begin_name(char c) {
  begin_item();
  in_name_ = true;
  const bool keyword = frames_.back().separator == '=';
  const bool single = c == '\'' && syntax_ == ValueSyntax::python;
  if (!keyword && (c == '"' || single)) return begin_string(c, true, pending_), Step::more;
  if (c == kMark[0] && syntax_ == ValueSyntax::gemma) {
    mark_ = 1;
    state_ = State::mark;
    return Step::more;
  }
  const bool bare = keyword ? is_letter(c) : syntax_ == ValueSyntax::gemma && c != ',' && c != ':' && c != '}';
  if (!bare) return Step::broken;
  word_ = c;
  state_ = State::bare_name;
  return Step::more;
}

ValueReader::Step ValueReader::bare_name(char c) {
  const char separator = frames_.back().separator;
  const bool keyword = separator == '=';
  if (c != separator && (keyword ? is_letter(c) || is_digit(c) : !is_space(c) && c != ',' && c != '{' && c != '}')) {
    word_ += c;
    return Step::more;
  }
  if (c != separator && !is_space(c)) return Step::broken;
  pending_ += '"';
  append_json_text(pending_, word_);
  pending_ += '"';
  state_ = State::separator;
  if (c != separator) return Step::more;
  pending_ += ':';
  state_ = State::value;
  return Step::more;
}

bool ValueReader::end_word(std::string& out) {
  const std::string json = json_word(syntax_, word_);
  if (json.empty()) return false;
  flush(out);
  out += json;
  state_ = State::after;
  return true;
}

void ValueReader::begin_string(char quote, bool name, std::string& out) {
  quote_ = quote;
  in_name_ = name;
  mark_ = 0;
  state_ = State::string;
  if (name) {
    pending_ += '"';
    return;
  }
  flush(out);
  out += '"';
}

ValueReader::Step ValueReader::end_string(std::string& to) {
  to += '"';
  if (!in_name_) return whole_value();
  state_ = State::separator;
  return Step::more;
}

ValueReader::Step ValueReader::string_byte(char c, std::string& out) {
  std::string& to = in_name_ ? pending_ : out;
  if (quote_ == kMarkQuote) {
    if (c == kMark[mark_]) return ++mark_ < kMark.size() ? Step::more : end_string(to);
    append_json_text(to, kMark.substr(0, mark_));
    mark_ = 0;
    if (c == kMark[0]) return mark_ = 1, Step::more;
    append_json_char(to, c);
    return Step::more;
  }
  if (quoted_) {
    quoted_ = false;
    if (!is_digit(c) && !is_letter(c)) {
      const Step step = end_string(to);
      return step == Step::more ? push(c, out) : is_space(c) ? step : Step::broken;
    }
    append_json_char(to, quote_);
  }
  if (!escape_.empty()) return escaped_byte(c, to) ? Step::more : Step::broken;
  if (c == '\\') return escape_ = c, Step::more;
  drop_half_pair(to);
  // Templates write texts with apostrophes between single quotes as they are; in Python no letter follows a quote.
  if (c == quote_ && syntax_ == ValueSyntax::python) return quoted_ = true, Step::more;
  if (c == quote_) return end_string(to);
  append_json_char(to, c);
  return Step::more;
}

bool ValueReader::escaped_byte(char c, std::string& to) {
  const bool python = syntax_ == ValueSyntax::python;
  escape_ += c;
  const char kind = escape_[1];
  const size_t digits = kind == 'u' ? 4 : python && kind == 'x' ? 2 : python && kind == 'U' ? 8 : 0;
  if (digits > 0) {
    if (escape_.size() == 2) return true;
    if (!is_hex(c)) return false;
    if (escape_.size() < 2 + digits) return true;
    uint32_t code = 0;
    std::from_chars(escape_.data() + 2, escape_.data() + escape_.size(), code, 16);
    escape_.clear();
    return put_code(code, to);
  }
  escape_.clear();
  drop_half_pair(to);
  return escaped_letter(c, to);
}

bool ValueReader::escaped_letter(char c, std::string& to) {
  constexpr std::string_view letters = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  const bool python = syntax_ == ValueSyntax::python;
  const size_t at = letters.find(c);
  if (at != std::string_view::npos && !(python && c == '/')) return append_json_char(to, meanings[at]), true;
  if (!python) return false;
  switch (c) {
    case '\n':
      return true;  // a line that goes on
    case '\'':
      return to += '\'', true;
    case 'a':
      return append_json_char(to, '\a'), true;
    case 'v':
      return append_json_char(to, '\v'), true;
    case '0':
      return append_json_char(to, '\0'), true;
    default:
      to += "\\\\";
      return append_json_char(to, c), true;  // as Python reads unknown escapes
  }
}

bool ValueReader::put_code(uint32_t code, std::string& to) {
  if (code > 0x10FFFF) return false;
  const bool low_half = code >= 0xDC00 && code <= 0xDFFF;
  if (low_half && half_pair_ != 0) {
    append_utf8(to, 0x10000 + ((half_pair_ - 0xD800) << 10) + (code - 0xDC00));
    half_pair_ = 0;
    return true;
  }
  drop_half_pair(to);
  if (code >= 0xD800 && code <= 0xDBFF) {
    half_pair_ = code;
  } else if (low_half) {
    append_utf8(to, 0xFFFD);
  } else if (code < 0x80) {
    append_json_char(to, static_cast<char>(code));
  } else {
    append_utf8(to, code);
  }
  return true;
}

void ValueReader::drop_half_pair(std::string& to) {
  if (half_pair_ != 0) append_utf8(to, 0xFFFD);
  half_pair_ = 0;
}

}  // namespace terrace::text
