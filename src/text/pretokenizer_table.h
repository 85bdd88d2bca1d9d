// Which expressions split text into words, by the value of tokenizer.ggml.pre.
#pragma once

#include <string_view>
#include <vector>

namespace terrace::text {

/// Stand for a step that groups runs of digits in threes, counted from the run's right end; the second one leaves a run
/// alone that a letter or an underscore follows.
inline constexpr std::string_view digit_groups = "digit groups";
inline constexpr std::string_view digit_groups_at_word_end = "digit groups at word end";

/// The expressions that word_scanner.h implements as well.
extern const std::string_view gpt2_words;
extern const std::string_view llama3_words;
extern const std::string_view qwen2_words;
extern const std::string_view qwen35_words;
extern const std::string_view single_digits;

struct PreTokenizerEntry {
  std::string_view names;               ///< separated by spaces
  std::vector<std::string_view> steps;  ///< expressions, each applied inside of the pieces the one before it made
  bool whole_words = false;             ///< a word that is a token is taken as that token, without merges
  bool normalizes = false;              ///< the reference brings text to form C first
};

/// The entry of that name, or null.
const PreTokenizerEntry* find_pre_tokenizer(std::string_view name);

}  // namespace terrace::text
