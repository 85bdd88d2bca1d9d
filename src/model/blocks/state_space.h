// Mamba-2: a recurrent token mixer whose state is a matrix per head that decays by one number per step.
#pragma once

#include "model/blocks/block.h"

namespace terrace::model {

struct StateSpaceShape {
  size_t hidden = 0;
  size_t heads = 0;
  size_t size = 0;    ///< of a head
  size_t groups = 0;  ///< of heads that share B and C
  size_t states = 0;
  size_t kernel = 0;  ///< of the convolution
  float epsilon = 0;
  Residual residual;

  size_t inner() const { return heads * size; }
  size_t channels() const { return inner() + 2 * groups * states; }  ///< x, B, C
};
/// Reads the sizes from `ssm.*` metadata.
Result<StateSpaceShape> load_state_space_shape(const Loader& loader);

class StateSpaceBlock : public Block {
 public:
  /// Loads `blk.<layer>.ssm_*` and the attn_norm before it; its state takes place in the sequence's.
  static Result<BlockPtr> load(Loader& loader, const StateSpaceShape& shape, size_t layer);

  size_t workspace() const override;
  void forward(const StepContext& context, compute::Rows x, compute::Rows out) const override;

 private:
  StateSpaceShape shape_;
  std::vector<float> norm_, taps_, convolution_bias_, decay_, skip_, time_bias_, out_norm_;
  MatrixPtr in_, out_;
  size_t tail_offset_ = 0, state_offset_ = 0;
};

}  // namespace terrace::model
