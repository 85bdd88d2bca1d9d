// DRY ("don't repeat yourself"): a penalty on the token that would make a repetition longer.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/sampler_options.h"

namespace terrace::engine {

/// The bytes of a token; the view lives as long as the vocabulary.
using TokenText = std::function<std::string_view(int32_t id)>;

/// For each `distance` below the number of tokens, how many tokens at the end are the same as those `distance` before
/// them: the length of the longest common suffix of `tokens` and `tokens` without its last `distance`. At 0 it is the
/// number of tokens. Linear.
std::vector<uint32_t> repeated_suffixes(std::span<const int32_t> tokens);

/// A token that would extend a repetition of n >= allowed_length tokens loses
/// multiplier * base ^ (n - allowed_length); for several repetitions the longest counts. A repetition reaches back no
/// further than to the last place where the text contains a breaker, and a token that contains one is never punished.
///
/// Breakers are looked for in the text and not in tokens, so it does not matter over which tokens one is spread.
class Dry {
 public:
  /// Without `text` there are no breakers.
  Dry(const SamplerOptions& options, TokenText text);

  bool active() const { return active_; }
  /// An id below 0 stands for something that is no text, such as an image; nothing repeats across it.
  void accept(int32_t token);
  void apply(std::span<const int32_t> history, std::span<float> logits);
  void reset();

 private:
  bool contains_breaker(std::string_view text) const;
  double penalty(size_t length) const;

  double multiplier_;
  double base_;
  size_t allowed_length_;
  size_t window_;
  bool active_;
  std::vector<std::string> breakers_;
  size_t longest_breaker_ = 0;
  TokenText text_;
  std::string tail_;        ///< the end of the text, too short for a breaker to be whole in it and end later
  size_t since_break_ = 0;  ///< tokens after the one in which the last breaker ended
};

}  // namespace terrace::engine
