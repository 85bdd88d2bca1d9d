// The gated feed-forward block: x += down(f(gate(norm(x))) . up(norm(x))).
#pragma once

#include "model/loader.h"
#include "model/workspace.h"

namespace terrace::model {

class FeedForwardBlock {
 public:
  /// Loads `blk.<layer>.ffn_{norm,gate,up,down}`.
  static Result<FeedForwardBlock> load(Loader& loader, size_t layer, size_t hidden, size_t width, float epsilon,
                                       compute::GateFunction function);
  void forward(compute::Backend& backend, Workspace& work, compute::Rows x) const;

 private:
  std::vector<float> norm_;
  float epsilon_ = 0;
  compute::GateFunction function_ = compute::GateFunction::silu;
  MatrixPtr gate_, up_, down_;
};

}  // namespace terrace::model
