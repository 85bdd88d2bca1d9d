#include "format/encode.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace terrace::format {

bool can_hold(const BlockType& type, std::span<const float> values) {
  if (&type == &block_type(TypeCode::f32) || &type == &block_type(TypeCode::bf16)) return true;
  constexpr float kLargestHalf = 65504;
  const float most = &type == &block_type(TypeCode::f16) ? kLargestHalf : std::numeric_limits<float>::max();
  return std::all_of(values.begin(), values.end(), [most](float value) { return std::fabs(value) <= most; });
}

void encode_rows(const BlockType& type, const float* values, size_t rows, size_t columns, const ColumnWeights& weights,
                 std::byte* out) {
  // Nothing may weigh exactly 0, or blocks without any importance would have no best scale.
  constexpr float kLeast = 1e-30F;
  std::vector<float> importance(columns, 1.0F);
  for (size_t i = 0; i < weights.importance.size(); ++i) importance[i] = weights.importance[i] + kLeast;
  const size_t row_bytes = columns / type.values * type.bytes;
  for (size_t row = 0; row < rows; ++row) {
    const float* from = values + row * columns;
    std::byte* to = out + row * row_bytes;
    if (type.codec->encode_row) {
      type.codec->encode_row(from, importance.data(), columns, to);
      continue;
    }
    for (size_t i = 0; i < columns; i += type.values, to += type.bytes)
      type.codec->encode(from + i, importance.data() + i, to);
  }
  if (type.codec->codes && !weights.coupling.empty()) round_coupled(type, values, rows, columns, weights.coupling, out);
}

void decode_values(const BlockType& type, const std::byte* blocks, size_t count, float* values) {
  for (size_t i = 0; i < count; i += type.values, blocks += type.bytes) type.codec->decode(blocks, values + i);
}

}  // namespace terrace::format
