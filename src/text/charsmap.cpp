#include "text/charsmap.h"

#include <algorithm>
#include <cstring>

#include "text/unicode.h"
#include "text/word_cutter.h"

namespace terrace::text {
namespace {

// The fields of a unit of a darts-clone double array.
uint32_t unit_label(uint32_t unit) { return unit & (1u << 31 | 0xFF); }
uint32_t unit_offset(uint32_t unit) { return (unit >> 10) << ((unit & (1u << 9)) >> 6); }
bool unit_has_leaf(uint32_t unit) { return (unit >> 8 & 1) != 0; }
uint32_t unit_value(uint32_t unit) { return unit & ~(1u << 31); }

}  // namespace

Result<Charsmap> Charsmap::create(std::string_view blob) {
  Charsmap map;
  if (blob.empty()) return map;
  uint32_t size = 0;
  if (blob.size() < sizeof size)
    return fail("the normalisation rules (tokenizer.ggml.precompiled_charsmap) are cut off");
  std::memcpy(&size, blob.data(), sizeof size);
  blob.remove_prefix(sizeof size);
  if (size % 4 != 0 || size == 0 || size > blob.size())
    return fail("the normalisation rules (tokenizer.ggml.precompiled_charsmap) state a trie of {} bytes in {} bytes",
                size, blob.size());
  map.units_.resize(size / 4);
  std::memcpy(map.units_.data(), blob.data(), size);
  map.replacements_ = blob.substr(size);
  return map;
}

Charsmap::Match Charsmap::longest(std::string_view text) const {
  Match match;
  if (units_.empty()) return match;
  size_t node = unit_offset(units_[0]);
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    node ^= byte;
    if (node >= units_.size() || unit_label(units_[node]) != byte) break;
    const uint32_t unit = units_[node];
    node ^= unit_offset(unit);
    if (node >= units_.size()) break;
    if (!unit_has_leaf(unit)) continue;
    const size_t at = unit_value(units_[node]);
    if (at >= replacements_.size()) break;
    const std::string_view rest = std::string_view(replacements_).substr(at);
    match = {i + 1, rest.substr(0, rest.find('\0'))};
  }
  return match;
}

Result<PieceNormalizer> PieceNormalizer::create(const Vocabulary& vocabulary, Prefix prefix) {
  PieceNormalizer normalizer;
  TERRACE_TRY(normalizer.charsmap_, Charsmap::create(vocabulary.precompiled_charsmap));
  normalizer.add_prefix_ = vocabulary.add_space_prefix;
  normalizer.remove_extra_ = vocabulary.remove_extra_whitespaces;
  normalizer.prefix_ = prefix;
  return normalizer;
}

std::string PieceNormalizer::with_rules(std::string_view text) const {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    size_t length = utf8_step(text).length;
    if (const Charsmap::Match match = charsmap_.longest(text); match.length > 0) {
      out.append(match.replacement);
      length = match.length;
    } else {
      out.append(text.substr(0, length));
    }
    text.remove_prefix(length);
  }
  return out;
}

std::string PieceNormalizer::normalize(std::string_view text, bool begins) const {
  std::string plain = charsmap_.empty() ? std::string(text) : with_rules(text);
  if (remove_extra_) {
    const auto double_space = [](char a, char b) { return a == ' ' && b == ' '; };
    plain.erase(std::unique(plain.begin(), plain.end(), double_space), plain.end());
    if (begins && plain.starts_with(' ')) plain.erase(0, 1);
    if (plain.ends_with(' ')) plain.pop_back();
    if (plain.empty()) return plain;
  }
  const bool spaced = plain.starts_with(' ') || plain.starts_with(visible_space);
  std::string out;
  out.reserve(plain.size() + plain.size() / 2 + visible_space.size());
  if (begins && add_prefix_ && !(spaced && prefix_ == Prefix::unless_spaced)) out.append(visible_space);
  std::string_view rest = plain;
  for (size_t at; (at = rest.find(' ')) != std::string_view::npos; rest.remove_prefix(at + 1))
    out.append(rest.substr(0, at)).append(visible_space);
  out.append(rest);
  return out;
}

}  // namespace terrace::text
