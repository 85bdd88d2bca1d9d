// What a grammar matches, asked byte by byte.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "text/grammar/constraint.h"

namespace terrace::text {

/// All single bytes, and one token (256) that ends.
inline std::shared_ptr<const TokenVocabulary> byte_vocabulary() {
  static const auto vocabulary = [] {
    std::vector<TokenVocabulary::Token> tokens(257);
    for (size_t i = 0; i < 256; ++i) tokens[i].bytes = std::string(1, static_cast<char>(i));
    tokens[256] = {"<end>", true, true};
    return TokenVocabulary::create(std::move(tokens));
  }();
  return vocabulary;
}

inline Constraint constraint(Grammar grammar, std::shared_ptr<const TokenVocabulary> vocabulary = byte_vocabulary()) {
  return Constraint(std::make_shared<CompiledGrammar>(std::move(grammar), std::move(vocabulary)));
}

inline bool begins(const Grammar& grammar, std::string_view text) { return constraint(grammar).accept_text(text); }

inline bool matches(const Grammar& grammar, std::string_view text) {
  Constraint place = constraint(grammar);
  return place.accept_text(text) && place.can_end();
}

}  // namespace terrace::text
