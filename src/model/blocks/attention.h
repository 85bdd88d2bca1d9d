// The attention block: norm, q/k/v projections, rope, attention over the pages, output projection onto the residual.
#pragma once

#include "model/loader.h"
#include "model/workspace.h"

namespace terrace::model {

/// Sizes that the attention layers of a model share.
struct AttentionShape {
  size_t hidden = 0;
  size_t heads = 0;
  size_t kv_heads = 0;
  size_t key_size = 0;
  size_t value_size = 0;
  compute::RopePairs pairs = compute::RopePairs::adjacent;
  float scale = 1;
  float epsilon = 0;
};
/// Reads the sizes from metadata; heads must be a multiple of kv heads, and head sizes within what backends can hold.
Result<AttentionShape> load_attention_shape(const Loader& loader, compute::RopePairs pairs);

class AttentionBlock {
 public:
  /// Loads `blk.<layer>.attn_*`; its keys and values take place in the page from `page_bytes` on, which grows by their
  /// size.
  static Result<AttentionBlock> load(Loader& loader, const AttentionShape& shape, size_t layer, size_t& page_bytes);

  static size_t workspace(const AttentionShape& shape);  ///< floats per row
  /// x += attention(norm(x))
  void forward(compute::Backend& backend, Workspace& work, compute::Rows x, compute::Rows turns,
               std::span<const compute::RowSpan> spans) const;

 private:
  AttentionShape shape_;
  compute::KvLayer kv_;
  std::vector<float> norm_, q_bias_, k_bias_, v_bias_, out_bias_;
  MatrixPtr q_, k_, v_, out_;
};

}  // namespace terrace::model
