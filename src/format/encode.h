// Encoding rows of floats in any block type that has an encoder, and decoding them again.
#pragma once

#include <cstddef>
#include <span>

#include "format/block_type.h"
#include "format/fit/coupled.h"

namespace terrace::format {

/// Whether every value can be encoded without becoming infinite or losing all meaning: F32 and BF16 hold whatever
/// comes, F16 finite values up to 65504 in size, blocks finite ones.
bool can_hold(const BlockType& type, std::span<const float> values);

/// How the errors of a matrix's columns weigh, the same for all rows.
struct ColumnWeights {
  std::span<const float> importance;  ///< a weight of 0 or more per column, or empty: all weigh the same
  Coupling coupling;                  ///< or empty; types without `codes` do not use it
};

/// Encodes `rows` rows of `columns` finite floats, row after row. `columns` is a multiple of type.values. `out` has
/// rows * columns / type.values * type.bytes bytes.
void encode_rows(const BlockType& type, const float* values, size_t rows, size_t columns, const ColumnWeights& weights,
                 std::byte* out);

/// Decodes `count` values, a multiple of type.values.
void decode_values(const BlockType& type, const std::byte* blocks, size_t count, float* values);

}  // namespace terrace::format
