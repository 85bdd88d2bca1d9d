#include "format/encode.h"

#include <vector>

namespace terrace::format {

void encode_rows(const BlockType& type, const float* values, size_t rows, size_t columns,
                 std::span<const float> importance, std::byte* out) {
  std::vector<float> weights(type.values, 1.0F);
  for (size_t block = 0; block < rows * columns / type.values; ++block, out += type.bytes) {
    const float* from = values + block * type.values;
    for (size_t i = 0; i < type.values; ++i)
      weights[i] =
          importance.empty() ? from[i] * from[i] + 1e-30F : importance[block * type.values % columns + i] + 1e-30F;
    type.codec->encode(from, weights.data(), out);
  }
}

void decode_values(const BlockType& type, const std::byte* blocks, size_t count, float* values) {
  for (size_t i = 0; i < count; i += type.values, blocks += type.bytes) type.codec->decode(blocks, values + i);
}

}  // namespace terrace::format
