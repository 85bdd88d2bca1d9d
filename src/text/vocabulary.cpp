#include "text/vocabulary.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

namespace terrace::text {
namespace {

constexpr std::array<std::string_view, 28> turn_ends = {"<|eot_id|>",
                                                        "<|im_end|>",
                                                        "<|end|>",
                                                        "<|return|>",
                                                        "<|call|>",
                                                        "<|flush|>",
                                                        "<|calls|>",
                                                        "<end_of_turn>",
                                                        "<turn|>",
                                                        "<|tool_response>",
                                                        "<|endoftext|>",
                                                        "<|end_of_text|>",
                                                        "<|eom_id|>",
                                                        "</s>",
                                                        "<EOT>",
                                                        "_<EOT>",
                                                        "[EOT]",
                                                        "[EOS]",
                                                        "<end_of_utterance>",
                                                        "<eos>",
                                                        "<\xEF\xBD\x9C"
                                                        "end\xE2\x96\x81of\xE2\x96\x81sentence\xEF\xBD\x9C>",
                                                        "[e~[",
                                                        "<|fim_pad|>",
                                                        "<fim-pad>",
                                                        "<fim_pad>",
                                                        "<|repo_name|>",
                                                        "<|fim_repo|>",
                                                        "<|file_sep|>"};

Status read_id(const format::GgufMetadata& metadata, std::string_view key, size_t size, std::optional<int32_t>& id) {
  if (!metadata.contains(key)) return Done{};
  TERRACE_TRY(const uint64_t value, metadata.integer(key));
  if (value >= size) return fail("the metadata key '{}' is {}, but there are only {} tokens", key, value, size);
  id = static_cast<int32_t>(value);
  return Done{};
}

Status read_tokens(const format::GgufMetadata& metadata, Vocabulary& vocabulary) {
  TERRACE_TRY(const format::GgufArray* tokens, metadata.array("tokenizer.ggml.tokens"));
  if (tokens->type != format::GgufType::string || tokens->strings.empty())
    return fail("the metadata key 'tokenizer.ggml.tokens' is not a list of strings");
  if (tokens->strings.size() > size_t{std::numeric_limits<int32_t>::max() / 2})
    return fail("the vocabulary has {} tokens, more than ids can count", tokens->strings.size());
  vocabulary.tokens = tokens->strings;
  const size_t size = vocabulary.tokens.size();

  if (metadata.contains("tokenizer.ggml.scores")) {
    TERRACE_TRY(const format::GgufArray* scores, metadata.array("tokenizer.ggml.scores"));
    if (scores->floats.size() != size)
      return fail("the metadata key 'tokenizer.ggml.scores' has {} numbers for {} tokens", scores->floats.size(), size);
    vocabulary.scores.assign(scores->floats.begin(), scores->floats.end());
  }
  vocabulary.types.assign(size, TokenType::normal);
  if (metadata.contains("tokenizer.ggml.token_type")) {
    TERRACE_TRY(const format::GgufArray* types, metadata.array("tokenizer.ggml.token_type"));
    if (types->integers.size() != size)
      return fail("the metadata key 'tokenizer.ggml.token_type' has {} types for {} tokens", types->integers.size(),
                  size);
    for (size_t i = 0; i < size; ++i) {
      const int64_t type = types->integers[i];
      if (type < 0 || type > 6) return fail("token {} has the unknown type {} in 'tokenizer.ggml.token_type'", i, type);
      vocabulary.types[i] = type == 0 ? TokenType::normal : static_cast<TokenType>(type);
    }
  }
  if (metadata.contains("tokenizer.ggml.merges")) {
    TERRACE_TRY(const format::GgufArray* merges, metadata.array("tokenizer.ggml.merges"));
    if (merges->size() != merges->strings.size())
      return fail("the metadata key 'tokenizer.ggml.merges' is not a list of strings");
    vocabulary.merges = merges->strings;
  }
  return Done{};
}

Status read_special_ids(const format::GgufMetadata& metadata, Vocabulary& vocabulary) {
  const size_t size = vocabulary.tokens.size();
  const auto default_id = [&](std::optional<int32_t>& id, int32_t value) {
    if (static_cast<size_t>(value) < size) id = value;
  };
  // The fixed ids of SentencePiece's and T5's own models, which their files do not always repeat.
  if (vocabulary.model == "llama") {
    default_id(vocabulary.unk, 0);
    default_id(vocabulary.bos, 1);
    default_id(vocabulary.eos, 2);
  } else if (vocabulary.model == "t5") {
    default_id(vocabulary.pad, 0);
    default_id(vocabulary.eos, 1);
    default_id(vocabulary.unk, 2);
  }
  TERRACE_CHECK(read_id(metadata, "tokenizer.ggml.bos_token_id", size, vocabulary.bos));
  TERRACE_CHECK(read_id(metadata, "tokenizer.ggml.eos_token_id", size, vocabulary.eos));
  TERRACE_CHECK(read_id(metadata, "tokenizer.ggml.eot_token_id", size, vocabulary.eot));
  TERRACE_CHECK(read_id(metadata, "tokenizer.ggml.eom_token_id", size, vocabulary.eom));
  TERRACE_CHECK(read_id(metadata, "tokenizer.ggml.unknown_token_id", size, vocabulary.unk));
  TERRACE_CHECK(read_id(metadata, "tokenizer.ggml.padding_token_id", size, vocabulary.pad));
  TERRACE_CHECK(read_id(metadata, "tokenizer.ggml.seperator_token_id", size, vocabulary.sep));
  TERRACE_CHECK(read_id(metadata, "tokenizer.ggml.mask_token_id", size, vocabulary.mask));
  return Done{};
}

Status read_charsmap(const format::GgufMetadata& metadata, Vocabulary& vocabulary) {
  constexpr std::string_view key = "tokenizer.ggml.precompiled_charsmap";
  if (!metadata.contains(key)) return Done{};
  TERRACE_TRY(const format::GgufArray* bytes, metadata.array(key));
  if (bytes->size() != bytes->integers.size()) return fail("the metadata key '{}' is not a list of bytes", key);
  for (const int64_t byte : bytes->integers) {
    if (byte < -128 || byte > 255) return fail("the metadata key '{}' is not a list of bytes", key);
    vocabulary.precompiled_charsmap.push_back(static_cast<char>(static_cast<uint8_t>(byte)));
  }
  return Done{};
}

Status read_chat_templates(const format::GgufMetadata& metadata, Vocabulary& vocabulary) {
  TERRACE_TRY(vocabulary.chat_template, metadata.string_or("tokenizer.chat_template", ""));
  constexpr std::string_view prefix = "tokenizer.chat_template.";
  for (const auto& entry : metadata.entries()) {
    if (!entry.key.starts_with(prefix)) continue;
    TERRACE_TRY(std::string text, metadata.string(entry.key));
    vocabulary.chat_templates.emplace_back(entry.key.substr(prefix.size()), std::move(text));
  }
  return Done{};
}

bool adds_bos_by_default(const Vocabulary& vocabulary) {
  if (vocabulary.model == "llama" || vocabulary.model == "gemma4") return true;
  if (vocabulary.model != "gpt2") return false;
  constexpr std::array<std::string_view, 11> names = {"llama3",    "llama-v3",     "llama-bpe", "falcon3",
                                                      "falcon-h1", "pixtral",      "midm-2.0",  "lfm2",
                                                      "tekken",    "jina-v5-nano", "chameleon"};
  return std::find(names.begin(), names.end(), vocabulary.pre) != names.end();
}

}  // namespace

std::vector<int32_t> end_of_generation_tokens(const Vocabulary& vocabulary) {
  std::vector<int32_t> ids;
  bool returns = false;
  bool calls = false;
  bool flushes = false;
  std::optional<int32_t> end;
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (vocabulary.types[i] != TokenType::control) continue;
    const std::string& text = vocabulary.tokens[i];
    if (std::find(turn_ends.begin(), turn_ends.end(), text) == turn_ends.end()) continue;
    const auto id = static_cast<int32_t>(i);
    returns |= text == "<|return|>";
    calls |= text == "<|call|>" || text == "<|calls|>";
    flushes |= text == "<|flush|>";
    if (text == "<|end|>") end = id;
    ids.push_back(id);
  }
  // In the harmony formats <|end|> closes a message inside of a turn.
  if (end && calls && (returns || flushes)) std::erase(ids, *end);
  for (const auto& id : {vocabulary.eos, vocabulary.eot, vocabulary.eom})
    if (id) ids.push_back(*id);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

Result<Vocabulary> read_vocabulary(const format::GgufMetadata& metadata) {
  Vocabulary vocabulary;
  TERRACE_TRY(vocabulary.model, metadata.string("tokenizer.ggml.model"));
  TERRACE_TRY(vocabulary.pre, metadata.string_or("tokenizer.ggml.pre", "default"));
  TERRACE_CHECK(read_tokens(metadata, vocabulary));
  TERRACE_CHECK(read_special_ids(metadata, vocabulary));
  TERRACE_TRY(vocabulary.add_bos, metadata.boolean_or("tokenizer.ggml.add_bos_token", adds_bos_by_default(vocabulary)));
  TERRACE_TRY(vocabulary.add_eos, metadata.boolean_or("tokenizer.ggml.add_eos_token", vocabulary.model == "t5"));
  TERRACE_TRY(
      vocabulary.add_space_prefix,
      metadata.boolean_or("tokenizer.ggml.add_space_prefix", vocabulary.model == "llama" || vocabulary.model == "t5"));
  TERRACE_TRY(vocabulary.remove_extra_whitespaces,
              metadata.boolean_or("tokenizer.ggml.remove_extra_whitespaces", false));
  // Gemma 4 needs its BOS; early conversions state false.
  if (vocabulary.model == "gemma4") vocabulary.add_bos = true;
  TERRACE_CHECK(read_charsmap(metadata, vocabulary));
  TERRACE_CHECK(read_chat_templates(metadata, vocabulary));
  vocabulary.end_of_generation = end_of_generation_tokens(vocabulary);
  return vocabulary;
}

}  // namespace terrace::text
