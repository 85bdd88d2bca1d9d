// Reads a value as models write it and writes it as JSON, byte by byte.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::text {

enum class ValueSyntax {
  json,    ///< JSON, but control characters in strings are escaped, and halves of surrogate pairs become U+FFFD
  python,  ///< Python literals: True, None, 'text', tuples, commas at the end
  gemma,   ///< {key:<|"|>text<|"|>}: names without quotes, strings between tokens, as Gemma 4 writes calls
};

/// What is written is compact JSON, at every moment the beginning of a valid value, and never ends in a name without a
/// value: a name is written with the first sign of its value. Takes linear time; at most 256 values inside each other.
class ValueReader {
 public:
  enum class Top {
    value,     ///< any value
    members,   ///< the inside of an object whose opening bracket was read: gemma, up to }
    keywords,  ///< the inside of a call's parentheses: python's key=value, up to )
  };
  enum class Step { more, done, broken };

  ValueReader(ValueSyntax syntax, Top top);

  /// Takes the next byte and appends to `out`. After `broken`, `byte` was not part of the value; what was written
  /// before it stays. Not to be called after done or broken.
  Step push(char byte, std::string& out);
  /// The end of the text: done if the value is whole.
  Step finish(std::string& out);

 private:
  enum class State : uint8_t { value, first_value, name, first_name, bare_name, separator, after, string, mark, word };
  struct Frame {
    char close;
    bool members;
    char separator;
  };

  Step begin_value(char c, std::string& out);
  Step begin_name(char c);
  bool open(Frame frame, char bracket);
  Step close(std::string& out);
  void begin_item();
  void flush(std::string& out);
  bool end_word(std::string& out);
  Step after_value(char c, std::string& out);
  Step bare_name(char c);
  void begin_string(char quote, bool name, std::string& out);
  Step string_byte(char c, std::string& out);
  Step end_string(std::string& to);
  bool escaped_byte(char c, std::string& to);
  bool escaped_letter(char c, std::string& to);
  bool put_code(uint32_t code, std::string& to);
  void drop_half_pair(std::string& to);
  Step whole_value();

  ValueSyntax syntax_;
  State state_;
  std::vector<Frame> frames_;
  std::string pending_;  ///< written when a value begins
  std::string word_;
  std::string escape_;
  size_t mark_ = 0;  ///< bytes read of the token that begins or ends a string
  uint32_t half_pair_ = 0;
  bool quoted_ = false;  ///< the last byte was python's closing quote, unless a letter follows
  char quote_ = 0;
  bool in_name_ = false;
  bool comma_ = false;
};

/// `text`, white space around it aside, as one JSON value; false if it is not one value.
bool read_value(ValueSyntax syntax, std::string_view text, std::string& out);

/// A code point as UTF-8.
void append_utf8(std::string& out, uint32_t code);
/// `text` as the inside of a JSON string.
void append_json_text(std::string& out, std::string_view text);

}  // namespace terrace::text
