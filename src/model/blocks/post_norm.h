// Blocks around blocks: a norm behind one, and several that read the same rows.
#pragma once

#include "model/blocks/block.h"

namespace terrace::model {

/// out += norm(block(x)). The block must replace its output (Residual::accumulate off).
class PostNorm : public Block {
 public:
  /// Loads `blk.<layer>.<norm>`.
  static Result<BlockPtr> load(Loader& loader, BlockPtr block, const std::string& norm, size_t hidden, float epsilon,
                               size_t layer);

  size_t workspace() const override { return block_->workspace() + Workspace::padded(gain_.size()); }
  void forward(const StepContext& context, compute::Rows x, compute::Rows out) const override;

 private:
  BlockPtr block_;
  std::vector<float> gain_;
  float epsilon_ = 0;
};

/// out = the sum of the blocks of x, which must add to their output. `out` must not be x.
class Branches : public Block {
 public:
  explicit Branches(std::vector<BlockPtr> blocks) : blocks_(std::move(blocks)) {}

  size_t workspace() const override;
  void forward(const StepContext& context, compute::Rows x, compute::Rows out) const override;

 private:
  std::vector<BlockPtr> blocks_;
};

}  // namespace terrace::model
