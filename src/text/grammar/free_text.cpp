#include "text/grammar/free_text.h"

#include <array>
#include <map>
#include <optional>
#include <tuple>

namespace terrace::text {
namespace {

constexpr size_t kMaxStates = 8192;

// The texts of a set as a trie, and for each node the longest proper suffix that is a node too.
class MarkerSet {
 public:
  explicit MarkerSet(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) add(text);
    std::vector<uint32_t> order = {0};
    for (size_t i = 0; i < order.size(); ++i)
      for (const auto& [byte, child] : nodes_[order[i]].children) {
        order.push_back(child);
        if (order[i] == 0) continue;
        nodes_[child].suffix = next(nodes_[order[i]].suffix, byte);
        nodes_[child].complete |= nodes_[nodes_[child].suffix].complete;
      }
  }

  bool complete(uint32_t node) const { return nodes_[node].complete; }

  std::optional<uint32_t> child(uint32_t node, uint8_t byte) const {
    const auto found = nodes_[node].children.find(byte);
    return found == nodes_[node].children.end() ? std::nullopt : std::optional(found->second);
  }

  // The longest end of the text so far that a marker begins with.
  uint32_t next(uint32_t node, uint8_t byte) const {
    for (;; node = nodes_[node].suffix) {
      if (const auto found = child(node, byte)) return *found;
      if (node == 0) return 0;
    }
  }

 private:
  struct Node {
    std::map<uint8_t, uint32_t> children;
    uint32_t suffix = 0;
    bool complete = false;
  };

  void add(const std::string& text) {
    uint32_t node = 0;
    for (const char c : text) {
      const auto [found, added] = nodes_[node].children.emplace(static_cast<uint8_t>(c), nodes_.size());
      node = found->second;
      if (added) nodes_.emplace_back();
    }
    nodes_[node].complete = true;
  }

  std::vector<Node> nodes_{1};
};

// What may follow inside a character.
enum class Utf8 : uint8_t { boundary, one, two, three, after_e0, after_ed, after_f0, after_f4, broken };

Utf8 next_utf8(Utf8 state, uint8_t byte) {
  const auto within = [&](uint8_t first, uint8_t last, Utf8 then) {
    return byte >= first && byte <= last ? then : Utf8::broken;
  };
  switch (state) {
    case Utf8::one:
      return within(0x80, 0xBF, Utf8::boundary);
    case Utf8::two:
      return within(0x80, 0xBF, Utf8::one);
    case Utf8::three:
      return within(0x80, 0xBF, Utf8::two);
    case Utf8::after_e0:
      return within(0xA0, 0xBF, Utf8::one);
    case Utf8::after_ed:
      return within(0x80, 0x9F, Utf8::one);
    case Utf8::after_f0:
      return within(0x90, 0xBF, Utf8::two);
    case Utf8::after_f4:
      return within(0x80, 0x8F, Utf8::two);
    case Utf8::boundary:
      break;
    case Utf8::broken:
      return Utf8::broken;
  }
  if (byte < 0x80) return Utf8::boundary;
  if (byte < 0xC2 || byte > 0xF4) return Utf8::broken;
  if (byte < 0xE0) return Utf8::one;
  if (byte < 0xF0) return byte == 0xE0 ? Utf8::after_e0 : byte == 0xED ? Utf8::after_ed : Utf8::two;
  return byte == 0xF0 ? Utf8::after_f0 : byte == 0xF4 ? Utf8::after_f4 : Utf8::three;
}

class Product {
 public:
  explicit Product(const FreeText& spec) : spec_(spec), anywhere_(spec.anywhere), lines_(spec.at_line_start) {}

  Result<std::vector<FreeTextState>> states() {
    (void)index({Utf8::boundary, 0, 0});
    for (size_t i = 0; i < places_.size(); ++i) {
      if (places_.size() > kMaxStates) return fail("the markers are too many or too long for a grammar");
      add_edges(i);
    }
    return std::move(states_);
  }

 private:
  static constexpr uint32_t kInLine = UINT32_MAX;
  // Inside a character; what the end of the text could become; what the line could become.
  using Place = std::tuple<Utf8, uint32_t, uint32_t>;

  uint32_t index(const Place& place) {
    const auto [found, added] = indices_.emplace(place, places_.size());
    if (added) {
      places_.push_back(place);
      const auto [utf8, suffix, line] = place;
      const bool ends =
          spec_.until ? anywhere_.complete(suffix) : utf8 == Utf8::boundary && (!spec_.ends_at_line_start || line == 0);
      states_.push_back({{}, ends});
    }
    return found->second;
  }

  std::optional<Place> next(const Place& place, uint8_t byte) const {
    auto [utf8, suffix, line] = place;
    if (!spec_.control_tokens) utf8 = next_utf8(utf8, byte);
    suffix = anywhere_.next(suffix, byte);
    const auto child = line == kInLine ? std::nullopt : lines_.child(line, byte);
    line = child ? *child : byte == '\n' ? 0 : kInLine;
    if (utf8 == Utf8::broken || (child && lines_.complete(line))) return std::nullopt;
    if (anywhere_.complete(suffix))
      return spec_.until ? std::optional(Place{Utf8::boundary, suffix, kInLine}) : std::nullopt;
    return Place{utf8, suffix, line};
  }

  void add_edges(size_t from) {
    if (anywhere_.complete(std::get<1>(places_[from]))) return;
    std::array<std::optional<uint32_t>, 256> bytes, control_bytes;
    for (size_t i = 0; i < 256; ++i) {
      const auto place = next(Place(places_[from]), static_cast<uint8_t>(i));
      if (!place) continue;
      bytes[i] = index(*place);
      // A control token may write a marker at the end, and no other text unless all are allowed.
      if (spec_.control_tokens || (spec_.until && std::get<1>(*place) != 0)) control_bytes[i] = bytes[i];
    }
    add_edges(from, bytes, 0);
    add_edges(from, control_bytes, Automaton::kControl);
  }

  void add_edges(size_t from, const std::array<std::optional<uint32_t>, 256>& targets, size_t symbols) {
    for (size_t first = 0, last = 0; first < 256; first = last + 1) {
      for (last = first; last < 255 && targets[last + 1] == targets[first];) ++last;
      if (targets[first])
        states_[from].edges.push_back(
            {static_cast<uint16_t>(symbols + first), static_cast<uint16_t>(symbols + last), *targets[first]});
    }
  }

  const FreeText& spec_;
  MarkerSet anywhere_, lines_;
  std::map<Place, uint32_t> indices_;
  std::vector<Place> places_;
  std::vector<FreeTextState> states_;
};

}  // namespace

Result<std::vector<FreeTextState>> free_text_states(const FreeText& spec) {
  for (const auto* texts : {&spec.anywhere, &spec.at_line_start})
    for (const std::string& text : *texts)
      if (text.empty()) return fail("a marker of a grammar is empty");
  return Product(spec).states();
}

}  // namespace terrace::text
