#include "format/encode.h"

#include <vector>

namespace terrace::format {

void encode_rows(const BlockType& type, const float* values, size_t rows, size_t columns,
                 std::span<const float> importance, std::byte* out) {
  // Nothing may weigh exactly 0, or blocks without any importance would have no best scale.
  constexpr float kLeast = 1e-30F;
  std::vector<float> weights(columns, 1.0F);
  for (size_t i = 0; i < importance.size(); ++i) weights[i] = importance[i] + kLeast;
  for (size_t row = 0; row < rows; ++row) {
    const float* from = values + row * columns;
    std::byte* to = out + row * (columns / type.values) * type.bytes;
    if (type.codec->encode_row) {
      type.codec->encode_row(from, weights.data(), columns, to);
      continue;
    }
    for (size_t i = 0; i < columns; i += type.values, to += type.bytes)
      type.codec->encode(from + i, weights.data() + i, to);
  }
}

void decode_values(const BlockType& type, const std::byte* blocks, size_t count, float* values) {
  for (size_t i = 0; i < count; i += type.values, blocks += type.bytes) type.codec->decode(blocks, values + i);
}

}  // namespace terrace::format
