#include <limits>
#include <string>

#include "text/byte_trie.h"
#include "text/charsmap.h"
#include "text/token_model.h"
#include "text/unicode.h"
#include "text/word_cache.h"
#include "text/word_cutter.h"

namespace terrace::text {
namespace {

class Unigram final : public TokenModel {
 public:
  Unigram(const Vocabulary& vocabulary, PieceNormalizer normalizer)
      : normalizer_(std::move(normalizer)), unknown_(vocabulary), scores_(vocabulary.tokens.size()) {
    double lowest = 0;
    for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
      const TokenType type = vocabulary.types[i];
      if (type == TokenType::unused || type == TokenType::user_defined || vocabulary.tokens[i].empty()) continue;
      // The reference finds control and byte pieces in text as well, at no cost; a GGUF has fillers for their scores.
      if (type == TokenType::normal) scores_[i] = double{vocabulary.scores[i]};
      lowest = std::min(lowest, scores_[i]);
      pieces_.add(vocabulary.tokens[i], static_cast<int32_t>(i));
      cutter_.learn(vocabulary.tokens[i]);
    }
    unknown_score_ = lowest - 10.0;
  }

  void encode(std::string_view raw, std::vector<int32_t>& ids) const override {
    const std::string text = normalizer_.normalize(raw, true);
    const size_t first = ids.size();
    WordCache cache(text.size());
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = cutter_.end_of_word(text, begin);
      cache.append(std::string_view(text).substr(begin, end - begin), ids,
                   [this](std::string_view word, auto& out) { encode_word(word, out); });
      begin = end;
    }
    unknown_.fuse(ids, first);
  }

 private:
  static constexpr int32_t unknown_piece = -1;
  struct Best {
    double score = -std::numeric_limits<double>::infinity();
    size_t begin = 0;
    int32_t id = unknown_piece;
  };

  void encode_word(std::string_view word, std::vector<int32_t>& ids) const {
    std::vector<Best> best(word.size() + 1);
    best[0].score = 0;
    for (size_t begin = 0; begin < word.size();) {
      const size_t character = utf8_step(word.substr(begin)).length;
      const double score = best[begin].score;
      bool covered = false;
      const auto reach = [&](size_t end, double total, int32_t id) {
        if (total > best[end].score) best[end] = {total, begin, id};
      };
      pieces_.prefixes(word.substr(begin), [&](size_t length, int32_t id) {
        covered |= length == character;
        reach(begin + length, score + scores_[static_cast<size_t>(id)], id);
      });
      if (!covered) reach(begin + character, score + unknown_score_, unknown_piece);
      begin += character;
    }
    std::vector<size_t> ends;
    for (size_t end = word.size(); end > 0; end = best[end].begin) ends.push_back(end);
    for (size_t i = ends.size(); i-- > 0;) {
      const Best& piece = best[ends[i]];
      if (piece.id != unknown_piece) {
        ids.push_back(piece.id);
      } else {
        unknown_.append(word.substr(piece.begin, ends[i] - piece.begin), ids);
      }
    }
  }

  PieceNormalizer normalizer_;
  UnknownText unknown_;
  ByteTrie pieces_;
  WordCutter cutter_;
  std::vector<double> scores_;
  double unknown_score_ = 0;
};

}  // namespace

Result<std::unique_ptr<const TokenModel>> make_unigram(const Vocabulary& vocabulary) {
  if (vocabulary.scores.empty())
    return fail("a vocabulary of the model '{}' needs the metadata key 'tokenizer.ggml.scores'", vocabulary.model);
  TERRACE_TRY(PieceNormalizer normalizer, PieceNormalizer::create(vocabulary, PieceNormalizer::Prefix::unless_spaced));
  return std::unique_ptr<const TokenModel>(new Unigram(vocabulary, std::move(normalizer)));
}

}  // namespace terrace::text
