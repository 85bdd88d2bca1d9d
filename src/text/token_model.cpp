#include "text/token_model.h"

#include <algorithm>
#include <cmath>

#include "text/byte_alphabet.h"

namespace terrace::text {

bool has_log_probabilities(const Vocabulary& vocabulary) {
  size_t whole = 0;
  size_t fractions = 0;
  for (size_t i = 0; i < vocabulary.scores.size(); ++i) {
    if (vocabulary.types[i] != TokenType::normal) continue;
    (std::floor(vocabulary.scores[i]) == vocabulary.scores[i] ? whole : fractions) += 1;
  }
  return fractions > whole;
}

std::vector<int32_t> byte_tokens(const Vocabulary& vocabulary) {
  std::vector<int32_t> ids(256, -1);
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (vocabulary.types[i] != TokenType::byte) continue;
    const int value = byte_token_value(vocabulary.tokens[i]);
    if (value >= 0 && ids[static_cast<size_t>(value)] < 0) ids[static_cast<size_t>(value)] = static_cast<int32_t>(i);
  }
  return ids;
}

void UnknownText::append(std::string_view text, std::vector<int32_t>& ids) const {
  const size_t first = ids.size();
  for (const char c : text) {
    const int32_t id = bytes_[static_cast<uint8_t>(c)];
    if (id < 0) {
      ids.resize(first);
      if (unknown_ >= 0) ids.push_back(unknown_);
      return;
    }
    ids.push_back(id);
  }
}

void UnknownText::fuse(std::vector<int32_t>& ids, size_t first) const {
  const auto both_unknown = [this](int32_t a, int32_t b) { return a == unknown_ && b == unknown_; };
  ids.erase(std::unique(ids.begin() + static_cast<ptrdiff_t>(first), ids.end(), both_unknown), ids.end());
}

}  // namespace terrace::text
