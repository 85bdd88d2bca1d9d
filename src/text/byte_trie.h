// A trie over bytes: the tokens that begin at a place of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace terrace::text {

/// Strings -> values. Constant after the last add().
class ByteTrie {
 public:
  ByteTrie();

  /// The first value added for a text stays. REQUIRES: text is not empty.
  void add(std::string_view text, int32_t value);

  bool empty() const { return values_.size() == 1; }

  /// Calls visit(length, value) for each added string that `text` begins with, shortest first.
  template <class Visit>
  void prefixes(std::string_view text, Visit&& visit) const {
    uint32_t node = first_[static_cast<uint8_t>(text[0])];
    for (size_t length = 1; node != 0; ++length) {
      if (values_[node] >= 0) visit(length, values_[node]);
      if (length == text.size()) return;
      node = child(node, static_cast<uint8_t>(text[length]));
    }
  }

  struct Match {
    size_t length;
    int32_t value;
  };
  /// The longest added string that `text` begins with. REQUIRES: text is not empty.
  std::optional<Match> longest(std::string_view text) const;

 private:
  struct Edge {
    uint64_t key = 0;  ///< parent node << 8 | byte; no edge has key 0, because the root's edges are in first_
    uint32_t node = 0;
  };
  uint32_t child(uint32_t node, uint8_t byte) const;
  void add_edge(uint64_t key, uint32_t node);

  std::vector<uint32_t> first_;
  std::vector<int32_t> values_;
  std::vector<Edge> edges_;
  size_t edge_count_ = 0;
};

}  // namespace terrace::text
