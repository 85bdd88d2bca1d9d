#include "tools/convert/orders.h"

namespace terrace::tools {

Order rotary_pairs(uint64_t heads, uint64_t head_size, uint64_t columns) {
  return {columns, heads * head_size, [head_size](uint64_t row) {
            const uint64_t head = row / head_size, place = row % head_size;
            return head * head_size + place / 2 + place % 2 * (head_size / 2);
          }};
}

Order ValueHeads::order(uint64_t unit, uint64_t span, uint64_t before, uint64_t rows) const {
  const uint64_t in_row = before + value_heads * span;
  return {unit, rows * in_row, [heads = *this, span, before, in_row](uint64_t place) {
            const uint64_t row = place / in_row, inside = place % in_row;
            if (inside < before) return place;
            const uint64_t head = (inside - before) / span;
            return row * in_row + before + heads.source(head) * span + (inside - before) % span;
          }};
}

Order every(uint64_t step, uint64_t first, uint64_t unit, uint64_t count) {
  return {unit, count, [step, first](uint64_t i) { return first + i * step; }};
}

Order transposed(uint64_t rows, uint64_t columns, uint64_t first, uint64_t step) {
  return {1, rows * (columns / step), [=](uint64_t i) { return i % rows * columns + first + i / rows * step; }};
}

}  // namespace terrace::tools
