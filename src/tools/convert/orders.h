// The orders in which GGUF files keep rows, columns and heads that checkpoints keep in another one.
#pragma once

#include "tools/convert/tensor_plan.h"

namespace terrace::tools {

/// Rows of queries or keys for a rope that turns pairs (2i, 2i + 1) of a head, where the checkpoint's turns pairs
/// (i, i + size / 2). `columns` values a row.
Order rotary_pairs(uint64_t heads, uint64_t head_size, uint64_t columns);

/// How value heads are shared out: checkpoints keep those of one key head side by side, GGUF takes turns.
struct ValueHeads {
  uint64_t key_heads = 1, value_heads = 1;

  /// The checkpoint's place of the file's value head `head`.
  uint64_t source(uint64_t head) const { return head % key_heads * (value_heads / key_heads) + head / key_heads; }
  /// Heads of `unit` values each, behind `before` units that stay; one value head has `span` units. Repeated for each
  /// of `rows` rows.
  Order order(uint64_t unit, uint64_t span = 1, uint64_t before = 0, uint64_t rows = 1) const;
};

/// Every `step`-th of the units of `unit` values, from `first` on, `count` of them.
Order every(uint64_t step, uint64_t first, uint64_t unit, uint64_t count);

/// The columns `first`, `first + step`, ... of a matrix of rows x columns, as rows.
Order transposed(uint64_t rows, uint64_t columns, uint64_t first = 0, uint64_t step = 1);

}  // namespace terrace::tools
