// LFM2's gated short convolution: x is projected to B, C and x'; out = C . conv(B . x').
#pragma once

#include "model/blocks/block.h"

namespace terrace::model {

struct ShortConvolutionShape {
  size_t hidden = 0;
  size_t kernel = 0;
  float epsilon = 0;
};

class ShortConvolutionBlock : public Block {
 public:
  /// Loads `blk.<layer>.shortconv.*` and the attn_norm before it; its state takes place in the sequence's.
  static Result<BlockPtr> load(Loader& loader, const ShortConvolutionShape& shape, size_t layer);

  size_t workspace() const override { return 4 * Workspace::padded(shape_.hidden); }
  void forward(const StepContext& context, compute::Rows x, compute::Rows out) const override;

 private:
  ShortConvolutionShape shape_;
  std::vector<float> norm_, taps_;
  MatrixPtr in_, out_;
  size_t state_offset_ = 0;
};

}  // namespace terrace::model
