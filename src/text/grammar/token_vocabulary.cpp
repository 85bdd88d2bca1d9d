#include "text/grammar/token_vocabulary.h"

#include <algorithm>

#include "text/grammar/automaton.h"
#include "text/tokenizer.h"

namespace terrace::text {
namespace {

// No model's token is nearly as long; depths fit into 16 bits.
constexpr size_t kMaxTokenBytes = 4096;

}  // namespace

std::shared_ptr<const TokenVocabulary> TokenVocabulary::create(const Tokenizer& tokenizer) {
  std::vector<Token> tokens(tokenizer.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    const auto id = static_cast<int32_t>(i);
    tokens[i] = {std::string(tokenizer.token_bytes(id)), tokenizer.is_control(id), tokenizer.is_end_of_generation(id)};
    // The token for what the vocabulary does not know stands for no text.
    if (tokenizer.vocabulary().type(i) == TokenType::unknown) tokens[i].bytes.clear();
  }
  return create(std::move(tokens));
}

std::shared_ptr<const TokenVocabulary> TokenVocabulary::create(std::vector<Token> tokens) {
  return std::shared_ptr<const TokenVocabulary>(new TokenVocabulary(std::move(tokens)));
}

TokenVocabulary::TokenVocabulary(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    if (tokens_[i].end) end_tokens_.push_back(static_cast<int32_t>(i));
    if (tokens_[i].bytes.size() > kMaxTokenBytes) tokens_[i].bytes.clear();
    if (!tokens_[i].bytes.empty()) ordered_.push_back(static_cast<int32_t>(i));
  }
  const auto token_of = [&](int32_t id) -> const Token& { return tokens_[static_cast<size_t>(id)]; };
  std::sort(ordered_.begin(), ordered_.end(), [&](int32_t a, int32_t b) {
    const Token &first = token_of(a), &second = token_of(b);
    return std::tie(first.control, first.bytes, a) < std::tie(second.control, second.bytes, b);
  });

  // The nodes above the current token, which end where a token goes another way.
  std::vector<uint32_t> path;
  const auto close = [&](size_t depth) {
    for (; path.size() > depth; path.pop_back()) nodes_[path.back()].end = static_cast<uint32_t>(nodes_.size());
  };
  const Token* previous = nullptr;
  for (size_t i = 0; i < ordered_.size(); ++i) {
    const Token& token = token_of(ordered_[i]);
    size_t common = 0;
    if (previous && previous->control == token.control)
      common = static_cast<size_t>(
          std::mismatch(previous->bytes.begin(), previous->bytes.end(), token.bytes.begin(), token.bytes.end()).first -
          previous->bytes.begin());
    close(common);
    for (size_t depth = common; depth < token.bytes.size(); ++depth) {
      path.push_back(static_cast<uint32_t>(nodes_.size()));
      const auto symbol =
          static_cast<uint16_t>(static_cast<uint8_t>(token.bytes[depth]) + (token.control ? Automaton::kControl : 0));
      nodes_.push_back({0, static_cast<uint32_t>(i), symbol, static_cast<uint16_t>(depth + 1)});
    }
    max_depth_ = std::max(max_depth_, token.bytes.size());
    previous = &token;
  }
  close(0);
  nodes_.push_back({0, static_cast<uint32_t>(ordered_.size()), 0, 0});
}

}  // namespace terrace::text
