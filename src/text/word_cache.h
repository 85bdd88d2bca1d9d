// The tokens of recently seen words: most words of a text occur in it many times.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace terrace::text {

/// A direct-mapped cache of short words. Belongs to one call, so that no lock is needed; off for short texts, where
/// filling it costs more than it saves.
class WordCache {
 public:
  explicit WordCache(size_t text_size) : slots_(text_size < 4096 ? 0 : 4096) {}

  /// Appends the tokens of `word` to `ids`, from the cache or by encode(word, ids).
  template <class Encode>
  void append(std::string_view word, std::vector<int32_t>& ids, Encode&& encode) {
    if (slots_.empty() || word.size() > longest_word) {
      encode(word, ids);
      return;
    }
    Slot& slot = slots_[hash(word)];
    if (slot.size == word.size() && std::memcmp(slot.text, word.data(), word.size()) == 0) {
      ids.insert(ids.end(), slot.ids, slot.ids + slot.count);
      return;
    }
    const size_t first = ids.size();
    encode(word, ids);
    const size_t count = ids.size() - first;
    if (count > most_ids) return;
    slot.size = static_cast<uint8_t>(word.size());
    slot.count = static_cast<uint8_t>(count);
    std::memcpy(slot.text, word.data(), word.size());
    std::copy_n(ids.begin() + static_cast<ptrdiff_t>(first), count, slot.ids);
  }

 private:
  static constexpr size_t longest_word = 30;
  static constexpr size_t most_ids = 8;
  struct Slot {  // one cache line
    uint8_t size = 0;
    uint8_t count = 0;
    char text[longest_word] = {};
    int32_t ids[most_ids] = {};
  };

  static size_t hash(std::string_view word) {
    uint64_t value = word.size();
    for (size_t i = 0; i < word.size(); i += 8) {
      uint64_t part = 0;
      std::memcpy(&part, word.data() + i, std::min<size_t>(8, word.size() - i));
      value = (value ^ part) * 0x9E3779B97F4A7C15u;
      value ^= value >> 32;
    }
    return value & 4095;
  }

  std::vector<Slot> slots_;
};

}  // namespace terrace::text
