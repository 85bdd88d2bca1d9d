// Tokens -> text while they are being generated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "text/tokenizer.h"

namespace terrace::text {

/// Gives out whole UTF-8 only. What push() and finish() return is together utf8_lossy(tokenizer.decode(ids)), however
/// the characters are spread over the tokens. Not thread-safe; the tokenizer must outlive it.
class StreamDecoder {
 public:
  struct Options {
    bool specials = false;   ///< control tokens appear as their text
    bool continues = false;  ///< the tokens continue a text, so their first space is kept even if it could be a prefix
  };

  explicit StreamDecoder(const Tokenizer& tokenizer) : StreamDecoder(tokenizer, Options{}) {}
  StreamDecoder(const Tokenizer& tokenizer, Options options)
      : tokenizer_(&tokenizer), options_(options), begins_(!options.continues) {}

  /// The text that is complete with `id`; the start of a character is held back until its last byte comes.
  std::string push(int32_t id);
  /// What was held back: one U+FFFD, or nothing. The decoder is then as new.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  Options options_;
  bool begins_;
  std::string held_;
};

}  // namespace terrace::text
