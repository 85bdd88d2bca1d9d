// Merges as a vocabulary lists or implies them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "text/merge_table.h"
#include "text/vocabulary.h"

namespace terrace::text {

/// The merges of tokenizer.ggml.merges; an error if there are none or one names a text that is no token.
Result<MergeTable> listed_merges(const Vocabulary& vocabulary);

/// Symbols beside the tokens: characters that occur in tokens without being one. Symbol vocabulary.tokens.size() + i.
using ExtraCharacters = std::vector<std::string>;

/// The merges that SentencePiece's BPE implies: each way to make a normal token of two symbols, ranked by its score.
Result<MergeTable> scored_merges(const Vocabulary& vocabulary, ExtraCharacters& extra);

}  // namespace terrace::text
