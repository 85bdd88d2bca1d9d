// Ranges of code points as sequences of byte ranges, for automata over bytes.
#pragma once

#include <cstdint>
#include <vector>

#include "text/grammar/grammar.h"

namespace terrace::text {

struct ByteRange {
  uint8_t first = 0;
  uint8_t last = 0;
  auto operator<=>(const ByteRange&) const = default;
};

/// The byte strings of one sequence are those with a byte of each range in turn.
using ByteSequence = std::vector<ByteRange>;

/// The well-formed UTF-8 of the code points in `range`; surrogates have none.
std::vector<ByteSequence> utf8_sequences(CodePoints range);

/// Sorted and disjoint, without what is above 10FFFF.
std::vector<CodePoints> normalized(std::vector<CodePoints> ranges);

/// All code points that are not in the ranges, which are normalized.
std::vector<CodePoints> complement(const std::vector<CodePoints>& ranges);

/// The code points that are in both, which are normalized.
std::vector<CodePoints> intersection(const std::vector<CodePoints>& a, const std::vector<CodePoints>& b);

}  // namespace terrace::text
