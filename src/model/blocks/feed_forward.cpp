#include "model/blocks/feed_forward.h"

namespace terrace::model {

Result<FeedForwardBlock> FeedForwardBlock::load(Loader& loader, size_t layer, size_t hidden, size_t width,
                                                float epsilon, compute::GateFunction function) {
  FeedForwardBlock block;
  block.epsilon_ = epsilon;
  block.function_ = function;
  const std::string prefix = fmt::format("blk.{}.ffn_", layer);
  TERRACE_TRY(block.norm_, loader.vector(prefix + "norm.weight", hidden));
  TERRACE_TRY(block.gate_, loader.matrix(prefix + "gate.weight", width, hidden));
  TERRACE_TRY(block.up_, loader.matrix(prefix + "up.weight", width, hidden));
  TERRACE_TRY(block.down_, loader.matrix(prefix + "down.weight", hidden, width));
  return block;
}

void FeedForwardBlock::forward(compute::Backend& backend, Workspace& work, compute::Rows x) const {
  const compute::Rows inner = work.rows(x.count, gate_->rows());
  backend.gated_linear(x, compute::Norm{norm_.data(), epsilon_}, *gate_, *up_, function_, inner);
  const compute::Linear output[] = {{down_.get(), nullptr, x, /*accumulate=*/true}};
  backend.linear(inner, std::nullopt, output);
}

}  // namespace terrace::model
