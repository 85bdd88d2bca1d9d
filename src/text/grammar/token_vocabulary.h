// The tokens of a vocabulary, ordered so that a grammar can be asked about all of them at once.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace terrace::text {

class Tokenizer;

/// Made once for a model. Constant, so any thread may use it.
class TokenVocabulary {
 public:
  struct Token {
    std::string bytes;     ///< what it stands for; a token without bytes is never allowed
    bool control = false;  ///< it may only write what a grammar says literally
    bool end = false;      ///< it ends a generation
  };
  /// A place in the tree of all tokens' symbols (see Automaton), in the order of a walk that visits parents first.
  struct Node {
    uint32_t end = 0;     ///< the first node after those below this one
    uint32_t tokens = 0;  ///< the first of its tokens in ordered(); they end where the next node's begin
    uint16_t symbol = 0;
    uint16_t depth = 0;  ///< symbols from the root, including its own
  };

  static std::shared_ptr<const TokenVocabulary> create(const Tokenizer& tokenizer);
  static std::shared_ptr<const TokenVocabulary> create(std::vector<Token> tokens);

  size_t size() const { return tokens_.size(); }
  /// Words of 64 bits that hold a bit for each token.
  size_t mask_words() const { return (size() + 63) / 64; }
  const Token& token(size_t id) const { return tokens_[id]; }
  std::span<const int32_t> end_tokens() const { return end_tokens_; }

  std::span<const Node> nodes() const { return {nodes_.data(), nodes_.size() - 1}; }
  std::span<const int32_t> tokens_of(size_t node) const {
    return std::span(ordered_).subspan(nodes_[node].tokens, nodes_[node + 1].tokens - nodes_[node].tokens);
  }
  size_t max_depth() const { return max_depth_; }

 private:
  explicit TokenVocabulary(std::vector<Token> tokens);

  std::vector<Token> tokens_;
  std::vector<int32_t> end_tokens_;
  std::vector<int32_t> ordered_;
  std::vector<Node> nodes_;  ///< and one more, for the ends
  size_t max_depth_ = 0;
};

}  // namespace terrace::text
