// The attention block: norm, q/k/v projections, rope, attention over the pages, output projection.
#pragma once

#include "model/blocks/indexer.h"

namespace terrace::model {

/// What a layer's attention is made of. Norms, biases and sinks are taken where the file has them.
struct AttentionShape {
  size_t hidden = 0;
  size_t heads = 0;
  size_t kv_heads = 0;
  size_t key_size = 0;
  size_t value_size = 0;
  compute::RopePairs pairs = compute::RopePairs::adjacent;
  size_t rope = 0;  ///< index among the model's ropes; kNoRope: positions do not matter
  float scale = 1;
  float epsilon = 0;
  int32_t window = 0;                         ///< 0: all positions
  bool gated = false;                         ///< attn_q has, per head, queries and then gates of the output
  bool normed = true;                         ///< there is an attn_norm before the projections
  bool value_norm = false;                    ///< values are normalised per head, without gains
  bool keys_as_values = false;                ///< the keys before norm and rope are the values, too
  std::optional<compute::KvLayer> shared_kv;  ///< an earlier layer's keys and values, instead of own ones
  Residual residual;
  std::optional<IndexerShape> indexer;  ///< rows attend to chosen blocks of positions
};
constexpr size_t kNoRope = ~size_t{0};
using compute::kMaximumHeadSize;

/// Reads the sizes from metadata for layer `layer`; heads must be a multiple of kv heads, and head sizes within what
/// backends can hold.
Result<AttentionShape> load_attention_shape(const Loader& loader, compute::RopePairs pairs, size_t layer = 0);

class AttentionBlock : public Block {
 public:
  /// Loads `blk.<layer>.attn_*`; its keys and values take place in the page.
  static Result<std::unique_ptr<AttentionBlock>> load(Loader& loader, const AttentionShape& shape, size_t layer);

  size_t workspace() const override;
  void forward(const StepContext& context, compute::Rows x, compute::Rows out) const override;
  const compute::KvLayer& kv() const { return kv_; }

 private:
  Status load_keys_and_values(Loader& loader, const std::string& prefix);

  AttentionShape shape_;
  compute::KvLayer kv_;
  std::vector<float> norm_, q_norm_, k_norm_, q_bias_, k_bias_, v_bias_, out_bias_, sinks_;
  MatrixPtr q_, k_, v_, out_;  ///< no k_: keys and values are shared; no v_: the keys are the values
  std::optional<Indexer> indexer_;
};

}  // namespace terrace::model
