#include "engine/dry.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/sampler_filters.h"

namespace terrace::engine {

std::vector<uint32_t> repeated_suffixes(std::span<const int32_t> tokens) {
  const size_t size = tokens.size();
  std::vector<uint32_t> lengths(size);
  if (size == 0) return lengths;
  lengths[0] = static_cast<uint32_t>(size);
  const auto from_end = [&](size_t i) { return tokens[size - 1 - i]; };
  // [begin, end), counted from the end of the tokens, is the known repetition that reaches furthest. What lies in it
  // is a copy of what lies `begin` closer to the end, where the answers are known already, so every token is compared
  // with success at most once.
  size_t begin = 0;
  size_t end = 0;
  for (size_t i = 1; i < size; ++i) {
    size_t length = i < end ? std::min<size_t>(lengths[i - begin], end - i) : 0;
    while (i + length < size && from_end(length) == from_end(i + length)) ++length;
    if (i + length > end) {
      begin = i;
      end = i + length;
    }
    lengths[i] = static_cast<uint32_t>(length);
  }
  return lengths;
}

Dry::Dry(const SamplerOptions& options, TokenText text)
    : multiplier_(options.dry_multiplier),
      base_(options.dry_base),
      allowed_length_(static_cast<size_t>(std::max<int64_t>(options.dry_allowed_length, 0))),
      window_(options.dry_penalty_last_n < 0 ? std::numeric_limits<size_t>::max()
                                             : static_cast<size_t>(options.dry_penalty_last_n)),
      active_(multiplier_ > 0 && base_ >= 1 && window_ > 0),
      text_(std::move(text)) {
  if (!text_) return;
  for (const std::string& breaker : options.dry_sequence_breakers) {
    if (breaker.empty()) continue;
    breakers_.push_back(breaker);
    longest_breaker_ = std::max(longest_breaker_, breaker.size());
  }
}

bool Dry::contains_breaker(std::string_view text) const {
  return std::any_of(breakers_.begin(), breakers_.end(),
                     [&](const std::string& breaker) { return text.find(breaker) != std::string_view::npos; });
}

void Dry::accept(int32_t token) {
  if (!active_) return;
  if (token < 0) {
    tail_.clear();
    since_break_ = 0;
    return;
  }
  ++since_break_;
  if (breakers_.empty()) return;
  const size_t before = tail_.size();
  tail_ += text_(token);
  // Only a breaker that ends in the new text is news; one that ended earlier has been counted.
  const auto ends_here = [&](const std::string& breaker) {
    const size_t start = before + 1 > breaker.size() ? before + 1 - breaker.size() : 0;
    return std::string_view(tail_).find(breaker, start) != std::string_view::npos;
  };
  if (std::any_of(breakers_.begin(), breakers_.end(), ends_here)) since_break_ = 0;
  const size_t keep = longest_breaker_ - 1;
  if (tail_.size() > keep) tail_.erase(0, tail_.size() - keep);
}

double Dry::penalty(size_t length) const {
  auto exponent = static_cast<double>(length - allowed_length_);
  // A base near 1 never overflows; for others the power is held to what a float can be.
  if (base_ > 1.000001) {
    const double most = std::floor(std::log(static_cast<double>(std::numeric_limits<float>::max())) / std::log(base_));
    if (most > 0) exponent = std::min(exponent, most);
  }
  return multiplier_ * std::pow(base_, exponent);
}

void Dry::apply(std::span<const int32_t> history, std::span<float> logits) {
  if (!active_) return;
  const std::span<const int32_t> tokens = history.last(std::min(history.size(), window_));
  const size_t limit = std::min(since_break_, tokens.size());
  if (tokens.size() <= allowed_length_ || limit < allowed_length_) return;
  const std::vector<uint32_t> lengths = repeated_suffixes(tokens);
  std::unordered_map<int32_t, size_t> longest;
  for (size_t distance = 1; distance < tokens.size(); ++distance) {
    const size_t length = std::min<size_t>(lengths[distance], limit);
    const int32_t next = tokens[tokens.size() - distance];
    if (length < allowed_length_ || next < 0 || static_cast<size_t>(next) >= logits.size()) continue;
    size_t& known = longest[next];
    known = std::max(known, length);
  }
  for (const auto& [token, length] : longest) {
    if (text_ && contains_breaker(text_(token))) continue;
    auto& logit = logits[static_cast<size_t>(token)];
    logit = to_float(logit - penalty(length));
  }
}

void Dry::reset() {
  tail_.clear();
  since_break_ = 0;
}

}  // namespace terrace::engine
