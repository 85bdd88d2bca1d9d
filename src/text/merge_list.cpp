#include "text/merge_list.h"

#include <algorithm>
#include <limits>

#include "text/unicode.h"

namespace terrace::text {
namespace {

using Symbols = std::unordered_map<std::string_view, int32_t>;

}  // namespace

Result<MergeTable> listed_merges(const Vocabulary& vocabulary) {
  if (vocabulary.merges.empty())
    return fail("a vocabulary of the model '{}' needs the metadata key 'tokenizer.ggml.merges'", vocabulary.model);
  if (vocabulary.merges.size() >= std::numeric_limits<uint32_t>::max())
    return fail("the vocabulary has {} merges, more than ranks can count", vocabulary.merges.size());
  Symbols symbols;
  symbols.reserve(vocabulary.tokens.size());
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) symbols.emplace(vocabulary.tokens[i], static_cast<int32_t>(i));

  MergeTable table(vocabulary.merges.size());
  std::string merged;
  for (size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    const std::string_view line = vocabulary.merges[rank];
    const size_t space = line.find(' ', 1);
    if (space == std::string_view::npos || space + 1 == line.size())
      return fail("merge {} of 'tokenizer.ggml.merges' is '{}', expected two tokens with a space between", rank, line);
    merged.assign(line.substr(0, space)).append(line.substr(space + 1));
    const auto left = symbols.find(line.substr(0, space));
    const auto right = symbols.find(line.substr(space + 1));
    const auto result = symbols.find(merged);
    if (left == symbols.end() || right == symbols.end() || result == symbols.end())
      return fail("merge {} of 'tokenizer.ggml.merges' is '{}', which names or makes a text that is no token", rank,
                  line);
    table.add(left->second, right->second, {static_cast<uint32_t>(rank), result->second});
  }
  return table;
}

Result<MergeTable> scored_merges(const Vocabulary& vocabulary, ExtraCharacters& extra) {
  if (vocabulary.scores.empty())
    return fail("a vocabulary of the model '{}' needs the metadata key 'tokenizer.ggml.scores'", vocabulary.model);
  const size_t size = vocabulary.tokens.size();
  Symbols symbols;
  std::vector<size_t> normal;
  for (size_t i = 0; i < size; ++i) {
    if (vocabulary.types[i] != TokenType::normal) continue;
    if (symbols.emplace(vocabulary.tokens[i], static_cast<int32_t>(i)).second) normal.push_back(i);
  }
  const auto each_character = [&](size_t token, auto&& visit) {
    const std::string_view text = vocabulary.tokens[token];
    for (size_t at = 0; at < text.size();) {
      const size_t length = utf8_step(text.substr(at)).length;
      visit(text, at, length);
      at += length;
    }
  };
  for (const size_t token : normal) {
    each_character(token, [&](std::string_view text, size_t at, size_t length) {
      const std::string_view character = text.substr(at, length);
      if (symbols.emplace(character, static_cast<int32_t>(size + extra.size())).second) extra.emplace_back(character);
    });
  }

  // Equal scores share a rank, so that among them the leftmost pair merges first.
  std::sort(normal.begin(), normal.end(), [&](size_t a, size_t b) {
    return vocabulary.scores[a] != vocabulary.scores[b] ? vocabulary.scores[a] > vocabulary.scores[b] : a < b;
  });
  struct Pair {
    int32_t left, right;
    MergeTable::Merge merge;
  };
  std::vector<Pair> pairs;
  uint32_t rank = 0;
  for (size_t i = 0; i < normal.size(); ++i) {
    if (i > 0 && vocabulary.scores[normal[i]] != vocabulary.scores[normal[i - 1]]) ++rank;
    each_character(normal[i], [&](std::string_view text, size_t at, size_t) {
      if (at == 0) return;
      const auto left = symbols.find(text.substr(0, at));
      const auto right = symbols.find(text.substr(at));
      if (left != symbols.end() && right != symbols.end())
        pairs.push_back({left->second, right->second, {rank, static_cast<int32_t>(normal[i])}});
    });
  }
  MergeTable table(pairs.size());
  for (const Pair& pair : pairs) table.add(pair.left, pair.right, pair.merge);
  return table;
}

}  // namespace terrace::text
