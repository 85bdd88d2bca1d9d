#include "model/blocks/feed_forward.h"

namespace terrace::model {

Result<BlockPtr> FeedForwardBlock::load(Loader& loader, const FeedForwardShape& shape, size_t width, size_t layer) {
  auto block = std::make_unique<FeedForwardBlock>();
  block->shape_ = shape;
  const std::string prefix = fmt::format("blk.{}.", layer);
  if (!shape.norm.empty()) {
    TERRACE_TRY(block->norm_, loader.vector(prefix + shape.norm + ".weight", shape.hidden));
  }
  TERRACE_TRY(block->gate_, loader.matrix(prefix + "ffn_gate.weight", width, shape.hidden));
  TERRACE_TRY(block->up_, loader.matrix(prefix + "ffn_up.weight", width, shape.hidden));
  TERRACE_TRY(block->down_, loader.matrix(prefix + "ffn_down.weight", shape.hidden, width));
  return BlockPtr(std::move(block));
}

void FeedForwardBlock::forward(const StepContext& context, compute::Rows x, compute::Rows out) const {
  const compute::Rows inner = context.work.rows(x.count, gate_->rows());
  context.backend.gated_linear(x, norm_or_none(norm_, shape_.epsilon), *gate_, *up_, shape_.function, inner);
  const compute::Linear output[] = {{down_.get(), nullptr, out, shape_.residual.accumulate, shape_.residual.scale}};
  context.backend.linear(inner, std::nullopt, output);
}

}  // namespace terrace::model
