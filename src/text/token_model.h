// How a stretch of plain text, between special tokens, becomes tokens: one implementation per kind of vocabulary.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/vocabulary.h"

namespace terrace::text {

/// Constant after creation; encode() may run in any thread.
class TokenModel {
 public:
  virtual ~TokenModel() = default;

  /// Appends the tokens of `text`, which may be any bytes.
  virtual void encode(std::string_view text, std::vector<int32_t>& ids) const = 0;
};

/// Byte-level BPE (gpt2): words by a pre-tokenizer, merges of bytes by rank.
Result<std::unique_ptr<const TokenModel>> make_byte_bpe(const Vocabulary& vocabulary);

/// BPE over characters with bytes for unknown ones: gemma4, whose merges are listed.
Result<std::unique_ptr<const TokenModel>> make_ranked_piece_bpe(const Vocabulary& vocabulary);

/// SentencePiece's BPE (llama): two neighbours merge if their text together is a token, best score first. User-defined
/// tokens are found here and not before: in SentencePiece they are part of the text, so none but the first stretch gets
/// the space prefix.
Result<std::unique_ptr<const TokenModel>> make_scored_piece_bpe(const Vocabulary& vocabulary);

/// Unigram (t5, and llama with log probabilities as scores): the segmentation with the highest total score.
Result<std::unique_ptr<const TokenModel>> make_unigram(const Vocabulary& vocabulary);

/// Whether a `llama` vocabulary is a Unigram one. Nothing in the file says so; BPE scores are ranks, hence whole
/// numbers.
bool has_log_probabilities(const Vocabulary& vocabulary);

/// The tokens <0x00> to <0xFF>, -1 where there is none.
std::vector<int32_t> byte_tokens(const Vocabulary& vocabulary);

/// Text that no piece covers.
class UnknownText {
 public:
  explicit UnknownText(const Vocabulary& vocabulary)
      : bytes_(byte_tokens(vocabulary)), unknown_(vocabulary.unk.value_or(-1)) {}

  /// Appends the byte tokens of `text`, or the unknown token if a byte has none.
  void append(std::string_view text, std::vector<int32_t>& ids) const;
  /// Leaves one unknown token of each run of them in ids[first..].
  void fuse(std::vector<int32_t>& ids, size_t first) const;

 private:
  std::vector<int32_t> bytes_;
  int32_t unknown_;
};

}  // namespace terrace::text
