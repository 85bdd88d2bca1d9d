// Splits text into the words inside of which byte pair merges happen.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace terrace::text {

/// Constant after creation; split() may run in any thread.
class PreTokenizer {
 public:
  enum class Engine : uint8_t {
    fastest,   ///< hand-written scanners where there is one
    patterns,  ///< the expressions themselves, by PCRE2: the definition that the scanners are tested against
  };

  /// The splitter for a value of tokenizer.ggml.pre; an error that names it if it is not known.
  static Result<std::unique_ptr<const PreTokenizer>> create(std::string_view name, Engine engine = Engine::fastest);
  ~PreTokenizer();

  /// The ends of the words of `text`, ascending, the last one text.size(). REQUIRES: `text` is well-formed UTF-8.
  std::vector<size_t> split(std::string_view text) const;

  bool whole_words() const { return whole_words_; }
  bool normalizes() const { return normalizes_; }

 private:
  class Step;
  PreTokenizer();

  std::vector<std::unique_ptr<const Step>> steps_;
  bool whole_words_ = false;
  bool normalizes_ = false;
};

}  // namespace terrace::text
