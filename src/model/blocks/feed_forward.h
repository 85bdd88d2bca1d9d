// The gated feed-forward block: out += down(f(gate(norm(x))) . up(norm(x))).
#pragma once

#include "model/blocks/block.h"

namespace terrace::model {

/// What the feed-forward blocks of a layer, dense or of experts, are made of.
struct FeedForwardShape {
  size_t hidden = 0;
  float epsilon = 0;
  std::string norm = "ffn_norm";  ///< name of the norm before it, without `blk.<layer>.`; empty: none
  compute::GateFunction function = compute::GateFunction::silu;
  Residual residual;
};

class FeedForwardBlock : public Block {
 public:
  /// Loads `blk.<layer>.ffn_{gate,up,down}`.
  static Result<BlockPtr> load(Loader& loader, const FeedForwardShape& shape, size_t width, size_t layer);

  size_t workspace() const override { return Workspace::padded(gate_->rows()); }
  void forward(const StepContext& context, compute::Rows x, compute::Rows out) const override;

 private:
  FeedForwardShape shape_;
  std::vector<float> norm_;
  MatrixPtr gate_, up_, down_;
};

}  // namespace terrace::model
