// The gated delta net: a recurrent token mixer whose state is one matrix per value head.
#pragma once

#include "model/blocks/block.h"

namespace terrace::model {

struct DeltaNetShape {
  size_t hidden = 0;
  size_t key_heads = 0;
  size_t value_heads = 0;
  size_t size = 0;    ///< of a head
  size_t kernel = 0;  ///< of the convolution
  float epsilon = 0;
  bool adjacent = false;  ///< as in compute::DeltaRule
  compute::Activation gate = compute::Activation::silu;
  bool normed = true;  ///< there is an attn_norm before the projections
  Residual residual;
};
/// Reads the sizes from `ssm.*` metadata.
Result<DeltaNetShape> load_delta_net_shape(const Loader& loader);

class DeltaNetBlock : public Block {
 public:
  /// Loads `blk.<layer>.attn_{qkv,gate}` and `ssm_*`; its state takes place in the sequence's.
  static Result<BlockPtr> load(Loader& loader, const DeltaNetShape& shape, size_t layer);

  size_t workspace() const override;
  void forward(const StepContext& context, compute::Rows x, compute::Rows out) const override;

 private:
  Status load_rates(Loader& loader, const std::string& prefix);

  DeltaNetShape shape_;
  std::vector<float> norm_, taps_, decay_, bias_, out_norm_;
  MatrixPtr qkv_, z_, beta_, alpha_, out_;
  size_t tail_offset_ = 0, matrix_offset_ = 0;
};

}  // namespace terrace::model
