// Rounding that knows how the errors of columns add up.
//
// Nearest codes keep each value's error small. What reaches the next layer is the sum of all errors of a row, each
// times its input, and inputs go together: they have means, and directions in which most of their movement lies. With H
// the second moments of the inputs, a row with errors e costs e^T H e. Here values are rounded anew one after the
// other, each to the code that is best given the errors of all others (coordinate descent: Behdin et al., "QuantEase",
// 2023).
#pragma once

#include <cstddef>
#include <span>

#include "format/block_type.h"

namespace terrace::format {

/// Directions per matrix: enough for most of what inputs have in common, at a small part of the weights' size.
constexpr size_t kDirections = 64;

/// H of a matrix with some columns, in one of two forms.
struct Coupling {
  /// H = U U^T + a diagonal: U, [columns][kDirections], and the diagonal of H.
  std::span<const float> directions, diagonal;
  /// H itself, [columns][columns].
  std::span<const float> moments;

  bool empty() const { return directions.empty() && moments.empty(); }
};

/// Changes the codes of encoded rows of a type that has `codes`; the scales stay. `values` are what was encoded.
void round_coupled(const BlockType& type, const float* values, size_t rows, size_t columns, const Coupling& coupling,
                   std::byte* blocks);

}  // namespace terrace::format
