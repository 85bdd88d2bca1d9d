#include <array>
#include <string>
#include <unordered_map>

#include "text/byte_alphabet.h"
#include "text/merge_list.h"
#include "text/merge_table.h"
#include "text/pretokenizer.h"
#include "text/token_model.h"
#include "text/unicode.h"
#include "text/word_cache.h"

namespace terrace::text {
namespace {

class ByteBpe final : public TokenModel {
 public:
  ByteBpe(const Vocabulary& vocabulary, std::unique_ptr<const PreTokenizer> words, MergeTable merges)
      : words_(std::move(words)), merges_(std::move(merges)) {
    bytes_.fill(-1);
    for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
      if (vocabulary.types[i] != TokenType::normal) continue;
      std::string bytes = alphabet_bytes(vocabulary.tokens[i]);
      const auto id = static_cast<int32_t>(i);
      if (bytes.size() == 1 && vocabulary.tokens[i] == byte_character(static_cast<uint8_t>(bytes[0]))) {
        int32_t& byte_id = bytes_[static_cast<uint8_t>(bytes[0])];
        if (byte_id < 0) byte_id = id;
      }
      if (words_->whole_words()) whole_.emplace(std::move(bytes), id);
    }
    // A byte without a token is lost, unless there is a token for what is lost.
    const int32_t unknown = vocabulary.unk.value_or(-1);
    for (int32_t& id : bytes_)
      if (id < 0) id = unknown;
  }

  void encode(std::string_view text, std::vector<int32_t>& ids) const override {
    WordCache cache(text.size());
    while (!text.empty()) {
      const std::string_view valid = text.substr(0, utf8_valid_prefix(text));
      if (words_->normalizes() && may_need_nfc(valid)) {
        encode_words(nfc(valid), ids, cache);
      } else {
        encode_words(valid, ids, cache);
      }
      text.remove_prefix(valid.size());
      if (text.empty()) break;
      append_byte(text[0], ids);
      text.remove_prefix(1);
    }
  }

 private:
  void append_byte(char byte, std::vector<int32_t>& ids) const {
    const int32_t id = bytes_[static_cast<uint8_t>(byte)];
    if (id >= 0) ids.push_back(id);
  }

  void encode_words(std::string_view text, std::vector<int32_t>& ids, WordCache& cache) const {
    size_t begin = 0;
    for (const size_t end : words_->split(text)) {
      cache.append(text.substr(begin, end - begin), ids,
                   [this](std::string_view word, auto& out) { encode_word(word, out); });
      begin = end;
    }
  }

  void encode_word(std::string_view word, std::vector<int32_t>& ids) const {
    if (words_->whole_words()) {
      if (const auto found = whole_.find(word); found != whole_.end()) {
        ids.push_back(found->second);
        return;
      }
    }
    const size_t first = ids.size();
    for (const char byte : word) append_byte(byte, ids);
    merges_.apply(ids, first);
  }

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  std::unique_ptr<const PreTokenizer> words_;
  MergeTable merges_;
  std::array<int32_t, 256> bytes_;
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> whole_;
};

}  // namespace

Result<std::unique_ptr<const TokenModel>> make_byte_bpe(const Vocabulary& vocabulary) {
  TERRACE_TRY(auto words, PreTokenizer::create(vocabulary.pre));
  TERRACE_TRY(MergeTable merges, listed_merges(vocabulary));
  return std::unique_ptr<const TokenModel>(new ByteBpe(vocabulary, std::move(words), std::move(merges)));
}

}  // namespace terrace::text
