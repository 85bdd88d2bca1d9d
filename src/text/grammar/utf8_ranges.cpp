#include "text/grammar/utf8_ranges.h"

#include <algorithm>
#include <array>

namespace terrace::text {
namespace {

constexpr uint32_t kLastCodePoint = 0x10FFFF;

size_t encode(uint32_t code, std::array<uint8_t, 4>& bytes) {
  const auto byte = [](uint32_t value) { return static_cast<uint8_t>(value); };
  if (code < 0x80) {
    bytes[0] = byte(code);
    return 1;
  }
  const size_t length = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (size_t i = length - 1; i > 0; --i, code >>= 6) bytes[i] = byte(0x80 | (code & 0x3F));
  bytes[0] = byte((0xF00u >> length & 0xF0u) | code);
  return length;
}

// Both ends have the same length. A range is one sequence if, below the first byte that differs, all of 80..BF are
// used; otherwise it is cut where they begin to be.
void split(uint32_t first, uint32_t last, std::vector<ByteSequence>& out) {
  std::array<uint8_t, 4> a{}, b{};
  const auto length = static_cast<uint32_t>(encode(first, a));
  for (uint32_t bits = 6 * (length - 1); bits > 0; bits -= 6) {
    const uint32_t low = (1u << bits) - 1;
    if ((first & ~low) == (last & ~low)) continue;
    if ((first & low) != 0) {
      split(first, first | low, out);
      return split((first | low) + 1, last, out);
    }
    if ((last & low) != low) {
      split(first, (last & ~low) - 1, out);
      return split(last & ~low, last, out);
    }
  }
  encode(last, b);
  ByteSequence& sequence = out.emplace_back();
  for (size_t i = 0; i < length; ++i) sequence.push_back({a[i], b[i]});
}

}  // namespace

std::vector<ByteSequence> utf8_sequences(CodePoints range) {
  // Where the length changes, and around the surrogates.
  static constexpr CodePoints parts[] = {
      {0, 0x7F}, {0x80, 0x7FF}, {0x800, 0xD7FF}, {0xE000, 0xFFFF}, {0x10000, kLastCodePoint}};
  std::vector<ByteSequence> out;
  for (const CodePoints part : parts) {
    const uint32_t first = std::max(range.first, part.first), last = std::min(range.last, part.last);
    if (first <= last) split(first, last, out);
  }
  return out;
}

std::vector<CodePoints> normalized(std::vector<CodePoints> ranges) {
  std::erase_if(ranges, [](CodePoints range) { return range.first > range.last || range.first > kLastCodePoint; });
  std::sort(ranges.begin(), ranges.end(), [](CodePoints a, CodePoints b) { return a.first < b.first; });
  std::vector<CodePoints> out;
  for (CodePoints range : ranges) {
    range.last = std::min(range.last, kLastCodePoint);
    if (!out.empty() && range.first <= out.back().last + 1) {
      out.back().last = std::max(out.back().last, range.last);
    } else {
      out.push_back(range);
    }
  }
  return out;
}

std::vector<CodePoints> complement(const std::vector<CodePoints>& ranges) {
  std::vector<CodePoints> out;
  uint32_t next = 0;
  for (const CodePoints range : ranges) {
    if (range.first > next) out.push_back({next, range.first - 1});
    next = range.last + 1;
  }
  if (next <= kLastCodePoint) out.push_back({next, kLastCodePoint});
  return out;
}

std::vector<CodePoints> intersection(const std::vector<CodePoints>& a, const std::vector<CodePoints>& b) {
  std::vector<CodePoints> out;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const uint32_t first = std::max(a[i].first, b[j].first), last = std::min(a[i].last, b[j].last);
    if (first <= last) out.push_back({first, last});
    if (a[i].last < b[j].last) {
      ++i;
    } else {
      ++j;
    }
  }
  return out;
}

}  // namespace terrace::text
