// A tokenizer's data as a GGUF states it, checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "format/gguf.h"

namespace terrace::text {

/// The type codes of tokenizer.ggml.token_type.
enum class TokenType : uint8_t {
  undefined = 0,
  normal = 1,
  unknown = 2,
  control = 3,
  user_defined = 4,
  unused = 5,
  byte = 6
};

struct Vocabulary {
  std::string model;  ///< tokenizer.ggml.model: gpt2, llama, t5, gemma4
  std::string pre;    ///< tokenizer.ggml.pre: which pattern splits text into words
  std::vector<std::string> tokens;
  std::vector<float> scores;        ///< empty, or one per token
  std::vector<TokenType> types;     ///< one per token
  std::vector<std::string> merges;  ///< "left right", by rank
  std::optional<int32_t> bos, eos, eot, eom, unk, pad, sep, mask;
  bool add_bos = false;
  bool add_eos = false;
  bool add_space_prefix = false;
  bool remove_extra_whitespaces = false;
  std::string precompiled_charsmap;        ///< SentencePiece's normalisation rules, or empty
  std::vector<int32_t> end_of_generation;  ///< sorted: the tokens after which nothing more is generated
  std::string chat_template;               ///< the default template, or empty
  std::vector<std::pair<std::string, std::string>> chat_templates;  ///< further ones: name, template

  TokenType type(size_t id) const { return types[id]; }
};

/// Reads the tokenizer.* keys. Every list is as long as the token list, every id is in range, or it is an error.
Result<Vocabulary> read_vocabulary(const format::GgufMetadata& metadata);

/// The tokens that end a generation: the ids the metadata names, and control tokens with a text known to end a turn.
std::vector<int32_t> end_of_generation_tokens(const Vocabulary& vocabulary);

}  // namespace terrace::text
