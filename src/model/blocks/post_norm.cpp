#include "model/blocks/post_norm.h"

namespace terrace::model {

using compute::Rows;

Result<BlockPtr> PostNorm::load(Loader& loader, BlockPtr block, const std::string& norm, size_t hidden, float epsilon,
                                size_t layer) {
  auto outer = std::make_unique<PostNorm>();
  TERRACE_TRY(outer->gain_, loader.vector(fmt::format("blk.{}.{}.weight", layer, norm), hidden));
  outer->block_ = std::move(block);
  outer->epsilon_ = epsilon;
  return BlockPtr(std::move(outer));
}

void PostNorm::forward(const StepContext& context, Rows x, Rows out) const {
  const Rows result = context.work.rows(x.count, gain_.size());
  block_->forward(context, x, result);
  context.backend.add(result, compute::Norm{gain_.data(), epsilon_}, 1, out);
}

size_t Branches::workspace() const {
  size_t floats = 0;
  for (const BlockPtr& block : blocks_) floats += block->workspace();
  return floats;
}

void Branches::forward(const StepContext& context, Rows x, Rows out) const {
  for (size_t r = 0; r < out.count; ++r) std::fill_n(out.row(r), out.width, 0.0F);
  for (const BlockPtr& block : blocks_) block->forward(context, x, out);
}

}  // namespace terrace::model
