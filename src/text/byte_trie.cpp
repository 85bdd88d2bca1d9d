#include "text/byte_trie.h"

namespace terrace::text {
namespace {

size_t slot_of(uint64_t key, size_t slots) {
  return static_cast<size_t>((key * 0x9E3779B97F4A7C15u) >> 32) & (slots - 1);
}

}  // namespace

ByteTrie::ByteTrie() : first_(256), values_(1, -1), edges_(16) {}

uint32_t ByteTrie::child(uint32_t node, uint8_t byte) const {
  const uint64_t key = uint64_t{node} << 8 | byte;
  for (size_t i = slot_of(key, edges_.size());; i = (i + 1) & (edges_.size() - 1)) {
    if (edges_[i].key == key) return edges_[i].node;
    if (edges_[i].key == 0) return 0;
  }
}

void ByteTrie::add_edge(uint64_t key, uint32_t node) {
  size_t i = slot_of(key, edges_.size());
  while (edges_[i].key != 0) i = (i + 1) & (edges_.size() - 1);
  edges_[i] = {key, node};
}

void ByteTrie::add(std::string_view text, int32_t value) {
  uint32_t node = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<uint8_t>(text[i]);
    uint32_t following = i == 0 ? first_[byte] : child(node, byte);
    if (following == 0) {
      following = static_cast<uint32_t>(values_.size());
      values_.push_back(-1);
      if (i == 0) {
        first_[byte] = following;
      } else {
        if (++edge_count_ * 2 > edges_.size()) {
          std::vector<Edge> old(edges_.size() * 2);
          old.swap(edges_);
          for (const Edge& edge : old)
            if (edge.key != 0) add_edge(edge.key, edge.node);
        }
        add_edge(uint64_t{node} << 8 | byte, following);
      }
    }
    node = following;
  }
  if (values_[node] < 0) values_[node] = value;
}

std::optional<ByteTrie::Match> ByteTrie::longest(std::string_view text) const {
  std::optional<Match> match;
  prefixes(text, [&](size_t length, int32_t value) { match = Match{length, value}; });
  return match;
}

}  // namespace terrace::text
