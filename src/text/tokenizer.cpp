#include "text/tokenizer.h"

#include <algorithm>
#include <cmath>

#include "text/byte_alphabet.h"
#include "text/word_cutter.h"

namespace terrace::text {
namespace {

std::string with_spaces(std::string_view text) {
  std::string out;
  for (size_t at; (at = text.find(visible_space)) != std::string_view::npos;
       text.remove_prefix(at + visible_space.size()))
    out.append(text.substr(0, at)).push_back(' ');
  return out.append(text);
}

// A vocabulary of pieces in a gpt2 file, named only by its pre-tokenizer.
bool is_piece_vocabulary(const Vocabulary& vocabulary) {
  return vocabulary.model == "gemma4" ||
         (vocabulary.model == "gpt2" && (vocabulary.pre == "gemma4" || vocabulary.pre == "sarvam-moe" ||
                                         vocabulary.pre == "granite-embed-multi-311m"));
}

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::create(Vocabulary vocabulary) {
  std::unique_ptr<Tokenizer> tokenizer(new Tokenizer(std::move(vocabulary)));
  TERRACE_CHECK(tokenizer->build());
  return tokenizer;
}

Status Tokenizer::build() {
  const size_t size = vocabulary_.tokens.size();
  if (vocabulary_.types.size() != size)
    return fail("the vocabulary has {} types for {} tokens", vocabulary_.types.size(), size);
  if (!vocabulary_.scores.empty() && vocabulary_.scores.size() != size)
    return fail("the vocabulary has {} scores for {} tokens", vocabulary_.scores.size(), size);
  // Scores are sorted and added up; neither means anything with a NaN or an infinity among them.
  const auto odd = std::find_if_not(vocabulary_.scores.begin(), vocabulary_.scores.end(),
                                    [](float score) { return std::isfinite(score); });
  if (odd != vocabulary_.scores.end())
    return fail("the score of token {} is not a finite number", odd - vocabulary_.scores.begin());
  bool model_finds_user_defined = false;
  const bool is_unigram =
      vocabulary_.model == "t5" || (vocabulary_.model == "llama" && has_log_probabilities(vocabulary_));
  if (is_piece_vocabulary(vocabulary_)) {
    TERRACE_TRY(model_, make_ranked_piece_bpe(vocabulary_));
  } else if (vocabulary_.model == "gpt2") {
    TERRACE_TRY(model_, make_byte_bpe(vocabulary_));
  } else if (is_unigram) {
    TERRACE_TRY(model_, make_unigram(vocabulary_));
  } else if (vocabulary_.model == "llama") {
    TERRACE_TRY(model_, make_scored_piece_bpe(vocabulary_));
    model_finds_user_defined = true;
  } else {
    return fail("the tokenizer model '{}' (tokenizer.ggml.model) is not known; known are gpt2, llama, t5 and gemma4",
                vocabulary_.model);
  }
  prefixed_ = vocabulary_.model != "gpt2" && vocabulary_.add_space_prefix;
  prefixed_after_user_defined_ = prefixed_ && !model_finds_user_defined;
  index_tokens();
  for (size_t i = 0; i < size; ++i) {
    const std::string& text = vocabulary_.tokens[i];
    const TokenType type = vocabulary_.types[i];
    if (text.empty()) continue;
    const auto id = static_cast<int32_t>(i);
    const bool user_defined = type == TokenType::user_defined && !model_finds_user_defined;
    if (type == TokenType::control || type == TokenType::unknown || user_defined) parsed_.add(text, id);
    if (user_defined) always_.add(text, id);
  }
  return Done{};
}

void Tokenizer::index_tokens() {
  const bool byte_level = vocabulary_.model == "gpt2" && !is_piece_vocabulary(vocabulary_);
  bytes_.reserve(size());
  ids_.reserve(size());
  for (size_t i = 0; i < size(); ++i) {
    const std::string& text = vocabulary_.tokens[i];
    const TokenType type = vocabulary_.types[i];
    ids_.emplace(text, static_cast<int32_t>(i));
    const int byte = type == TokenType::byte ? byte_token_value(text) : -1;
    if (byte >= 0) {
      bytes_.emplace_back(1, static_cast<char>(byte));
    } else if (type == TokenType::control || type == TokenType::unknown ||
               (byte_level && type == TokenType::user_defined)) {
      bytes_.push_back(text);
    } else {
      bytes_.push_back(byte_level ? alphabet_bytes(text) : with_spaces(text));
    }
  }
}

std::vector<int32_t> Tokenizer::encode(std::string_view text, EncodeOptions options) const {
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 3 + 8);
  if (options.add_special && vocabulary_.add_bos && vocabulary_.bos) ids.push_back(*vocabulary_.bos);
  const ByteTrie& specials = options.parse_special ? parsed_ : always_;
  size_t begin = 0;
  for (size_t at = 0; at < text.size() && !specials.empty();) {
    const auto match = specials.longest(text.substr(at));
    if (!match) {
      ++at;
      continue;
    }
    if (at > begin) model_->encode(text.substr(begin, at - begin), ids);
    ids.push_back(match->value);
    at += match->length;
    begin = at;
  }
  if (begin < text.size()) model_->encode(text.substr(begin), ids);
  if (options.add_special && vocabulary_.add_eos && vocabulary_.eos) ids.push_back(*vocabulary_.eos);
  return ids;
}

std::string Tokenizer::decode(std::span<const int32_t> ids, bool specials) const {
  std::string text;
  bool begins = true;
  for (const int32_t id : ids) text.append(piece(id, specials, begins));
  return text;
}

std::string_view Tokenizer::piece(int32_t id, bool specials, bool& begins) const {
  if (!is_token(id)) return {};
  std::string_view bytes = bytes_[static_cast<size_t>(id)];
  if (is_control(id)) {
    begins = vocabulary_.types[static_cast<size_t>(id)] == TokenType::control;
    return specials ? bytes : std::string_view();
  }
  if (begins && prefixed_ && bytes.starts_with(' ')) bytes.remove_prefix(1);
  begins = prefixed_after_user_defined_ && vocabulary_.types[static_cast<size_t>(id)] == TokenType::user_defined;
  return bytes;
}

std::string_view Tokenizer::token_bytes(int32_t id) const {
  return is_token(id) ? std::string_view(bytes_[static_cast<size_t>(id)]) : std::string_view();
}

bool Tokenizer::is_control(int32_t id) const {
  if (!is_token(id)) return false;
  const TokenType type = vocabulary_.types[static_cast<size_t>(id)];
  return type == TokenType::control || type == TokenType::unknown;
}

bool Tokenizer::is_end_of_generation(int32_t id) const {
  return std::binary_search(vocabulary_.end_of_generation.begin(), vocabulary_.end_of_generation.end(), id);
}

std::optional<int32_t> Tokenizer::find(std::string_view text) const {
  const auto found = ids_.find(text);
  return found == ids_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace terrace::text
