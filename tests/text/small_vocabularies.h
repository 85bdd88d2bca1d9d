// Vocabularies small enough to be written down, one of each kind.
#pragma once

#include <memory>
#include <string>

#include "text/byte_alphabet.h"
#include "text/tokenizer.h"

namespace terrace::text::small {

inline void add(Vocabulary& vocabulary, std::string token, TokenType type, float score = 0) {
  vocabulary.tokens.push_back(std::move(token));
  vocabulary.types.push_back(type);
  vocabulary.scores.push_back(score);
}

inline Vocabulary byte_level() {
  Vocabulary vocabulary;
  vocabulary.model = "gpt2";
  vocabulary.pre = "llama-bpe";
  for (int byte = 0; byte < 256; ++byte) add(vocabulary, byte_character(static_cast<uint8_t>(byte)), TokenType::normal);
  for (const char* token : {"ab", "bc", "abc", "\u0120a", "\u0120ab"}) add(vocabulary, token, TokenType::normal);
  vocabulary.merges = {"a b", "b c", "ab c", "\u0120 a", "\u0120 ab"};
  add(vocabulary, "<end>", TokenType::control);
  add(vocabulary, "<end>>", TokenType::control);
  add(vocabulary, "<mark>", TokenType::user_defined);
  vocabulary.eos = 261;
  vocabulary.end_of_generation = end_of_generation_tokens(vocabulary);
  return vocabulary;
}

inline Vocabulary with_bytes(bool log_probabilities) {
  Vocabulary vocabulary;
  vocabulary.model = "llama";
  vocabulary.add_space_prefix = true;
  add(vocabulary, "<unk>", TokenType::unknown);
  add(vocabulary, "<s>", TokenType::control);
  add(vocabulary, "</s>", TokenType::control);
  add(vocabulary, "<mark>", TokenType::user_defined);
  const float step = log_probabilities ? -1.5F : -1.0F;
  float score = 0;
  // By rank; the log probabilities of Unigram are made to contradict it in unigram().
  for (const char* token : {"\u2581a", "ab", "\u2581ab", "bc", "abc", "\u2581", "a", "b", "c", "\u2581\u2581"})
    add(vocabulary, token, TokenType::normal, score += step);
  vocabulary.unk = 0;
  vocabulary.bos = 1;
  vocabulary.eos = 2;
  vocabulary.end_of_generation = {2};
  return vocabulary;
}

inline Vocabulary sentencepiece() {
  Vocabulary vocabulary = with_bytes(false);
  for (int byte = 0; byte < 256; ++byte) {
    constexpr char digits[] = "0123456789ABCDEF";
    add(vocabulary, {'<', '0', 'x', digits[byte / 16], digits[byte % 16], '>'}, TokenType::byte);
  }
  return vocabulary;
}

inline Vocabulary unigram() {
  Vocabulary vocabulary = with_bytes(true);
  vocabulary.add_bos = true;
  const auto score = [&](const char* token, float value) {
    for (size_t i = 0; i < vocabulary.tokens.size(); ++i)
      if (vocabulary.tokens[i] == token) vocabulary.scores[i] = value;
  };
  score("ab", -1.25F);
  score("\u2581a", -2.5F);
  score("bc", -2.5F);
  score("\u2581ab", -4.5F);
  score("abc", -7.5F);
  score("\u2581", -8.5F);
  score("c", -8.5F);
  return vocabulary;
}

inline std::unique_ptr<Tokenizer> make(Vocabulary vocabulary) {
  auto tokenizer = Tokenizer::create(std::move(vocabulary));
  return tokenizer ? *std::move(tokenizer) : nullptr;
}

}  // namespace terrace::text::small
