// Writes a text under a grammar, for fuzzers of what grammars are made from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "text/grammar/constraint.h"

namespace terrace::text {

struct Walk {
  std::string text;
  bool complete = false;
};

/// Picks among the allowed tokens by `seed`, and stops the program where the mask and accept() disagree.
inline Walk walk_grammar(const Grammar& grammar, uint32_t seed, size_t tokens) {
  static const auto vocabulary = [] {
    std::vector<TokenVocabulary::Token> all(256);
    for (size_t i = 0; i < 256; ++i) all[i].bytes = std::string(1, static_cast<char>(i));
    for (const char* text : {"\",\"", "\": ", "{\"", "\"}", "ab", "[1", "],", "true", "  ", "\xE6\xAD", "\xAA\"", "12"})
      all.push_back({text});
    all.push_back({"<call>", true});
    all.push_back({"</s>", true, true});
    return TokenVocabulary::create(std::move(all));
  }();
  Constraint place(std::make_shared<CompiledGrammar>(grammar, vocabulary));
  Walk walk;
  for (size_t i = 0; i < tokens && !place.must_end(); ++i) {
    const auto mask = place.mask();
    const auto is_allowed = [&](size_t id) { return (mask[id / 64] >> (id % 64) & 1) != 0; };
    seed = seed * 1664525 + 1013904223;
    size_t id = (seed >> 8) % vocabulary->size();
    while (!is_allowed(id)) id = (id + 1) % vocabulary->size();
    const auto& token = vocabulary->token(id);
    const bool could_end = place.can_end();
    if (!place.accept(static_cast<int32_t>(id))) __builtin_trap();
    if (place.ended()) {
      walk.complete = could_end;
      return walk;
    }
    walk.text += token.bytes;
  }
  walk.complete = place.can_end();
  return walk;
}

}  // namespace terrace::text
