#include <array>
#include <string>
#include <unordered_map>

#include "text/byte_trie.h"
#include "text/charsmap.h"
#include "text/merge_list.h"
#include "text/merge_table.h"
#include "text/token_model.h"
#include "text/unicode.h"
#include "text/word_cache.h"
#include "text/word_cutter.h"

namespace terrace::text {
namespace {

class PieceBpe final : public TokenModel {
 public:
  PieceBpe(const Vocabulary& vocabulary, MergeTable merges, ExtraCharacters extra, PieceNormalizer normalizer,
           bool finds_user_defined)
      : merges_(std::move(merges)),
        extra_(std::move(extra)),
        size_(static_cast<int32_t>(vocabulary.tokens.size())),
        normalizer_(std::move(normalizer)),
        unknown_(vocabulary) {
    for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
      const std::string& token = vocabulary.tokens[i];
      if (token.empty()) continue;
      if (vocabulary.types[i] == TokenType::user_defined && finds_user_defined)
        add_user_defined(token, static_cast<int32_t>(i));
      if (vocabulary.types[i] != TokenType::normal) continue;
      cutter_.learn(token);
      add_character(token, static_cast<int32_t>(i));
    }
    for (size_t i = 0; i < extra_.size(); ++i) add_character(extra_[i], size_ + static_cast<int32_t>(i));
  }

  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    WordCache cache(text.size());
    bool first = true;
    cut_out(user_defined_, text, ids, [&](std::string_view stretch) {
      encode_stretch(stretch, first, ids, cache);
      first = false;
    });
  }

 private:
  /// Files hold spaces in user-defined tokens as they are, unlike those in all others. Their own form is the visible
  /// one: as such they are found in the text, and spaces become them only when the rest is normalised.
  void add_user_defined(std::string_view token, int32_t id) {
    std::string visible;
    for (const char c : token) c == ' ' ? visible.append(visible_space) : visible.append(1, c);
    user_defined_.add(visible, id);
    if (visible != token) spaced_.add(visible, id);
  }

  /// Puts the ids of the longest matches of `tokens` in their places, and calls `encode_rest` for the text around them.
  template <class EncodeRest>
  static void cut_out(const ByteTrie& tokens, std::string_view text, std::vector<int32_t>& ids,
                      EncodeRest encode_rest) {
    size_t begin = 0;
    for (size_t at = 0; at < text.size() && !tokens.empty();) {
      const auto match = tokens.longest(text.substr(at));
      if (!match) {
        ++at;
        continue;
      }
      encode_rest(text.substr(begin, at - begin));
      ids.push_back(match->value);
      at += match->length;
      begin = at;
    }
    encode_rest(text.substr(begin));
  }

  void add_character(std::string_view text, int32_t symbol) {
    const Utf8Step step = utf8_step(text);
    if (step.length == text.size() && step.kind == Utf8Step::Kind::valid)
      characters_.emplace(utf8_decode(text), symbol);
  }

  void encode_stretch(std::string_view raw, bool first, std::vector<int32_t>& ids, WordCache& cache) const {
    // The text's prefix stands even alone before a user-defined token; between two such tokens there is none.
    const std::string text = normalizer_.normalize(raw, first);
    const size_t first_id = ids.size();
    cut_out(spaced_, text, ids, [&](std::string_view rest) {
      for (size_t begin = 0; begin < rest.size();) {
        const size_t end = cutter_.end_of_word(rest, begin);
        cache.append(rest.substr(begin, end - begin), ids,
                     [this](std::string_view word, auto& out) { encode_word(word, out); });
        begin = end;
      }
    });
    unknown_.fuse(ids, first_id);
  }

  void encode_word(std::string_view word, std::vector<int32_t>& ids) const {
    std::vector<int32_t> symbols;
    const auto flush = [&] {
      merges_.apply(symbols, 0);
      for (const int32_t symbol : symbols) {
        if (symbol < size_) {
          ids.push_back(symbol);
        } else {
          unknown_.append(extra_[static_cast<size_t>(symbol - size_)], ids);
        }
      }
      symbols.clear();
    };
    while (!word.empty()) {
      const Utf8Step step = utf8_step(word);
      const std::string_view character = word.substr(0, step.length);
      word.remove_prefix(step.length);
      const auto found =
          step.kind == Utf8Step::Kind::valid ? characters_.find(utf8_decode(character)) : characters_.end();
      if (found != characters_.end()) {
        symbols.push_back(found->second);
      } else {
        flush();
        unknown_.append(character, ids);
      }
    }
    flush();
  }

  MergeTable merges_;
  ExtraCharacters extra_;
  int32_t size_;
  PieceNormalizer normalizer_;
  UnknownText unknown_;
  WordCutter cutter_;
  ByteTrie user_defined_;
  ByteTrie spaced_;  ///< those of the user-defined tokens that hold spaces
  std::unordered_map<uint32_t, int32_t> characters_;
};

}  // namespace

Result<std::unique_ptr<const TokenModel>> make_ranked_piece_bpe(const Vocabulary& vocabulary) {
  TERRACE_TRY(MergeTable merges, listed_merges(vocabulary));
  TERRACE_TRY(PieceNormalizer normalizer, PieceNormalizer::create(vocabulary, PieceNormalizer::Prefix::always));
  return std::unique_ptr<const TokenModel>(
      new PieceBpe(vocabulary, std::move(merges), {}, std::move(normalizer), false));
}

Result<std::unique_ptr<const TokenModel>> make_scored_piece_bpe(const Vocabulary& vocabulary) {
  ExtraCharacters extra;
  TERRACE_TRY(MergeTable merges, scored_merges(vocabulary, extra));
  TERRACE_TRY(PieceNormalizer normalizer, PieceNormalizer::create(vocabulary, PieceNormalizer::Prefix::always));
  return std::unique_ptr<const TokenModel>(
      new PieceBpe(vocabulary, std::move(merges), std::move(extra), std::move(normalizer), true));
}

}  // namespace terrace::text
