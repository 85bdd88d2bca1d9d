#include "model/blocks/draft_head.h"

#include <cstring>

namespace terrace::model {

using compute::Rows;

Result<DraftHead> DraftHead::load(Loader& loader, size_t hidden, float epsilon, size_t layer, Layer blocks) {
  DraftHead head;
  head.epsilon_ = epsilon;
  const std::string prefix = fmt::format("blk.{}.nextn.", layer);
  TERRACE_TRY(head.input_norm_, loader.vector(prefix + "enorm.weight", hidden));
  TERRACE_TRY(const auto hidden_norm, loader.vector(prefix + "hnorm.weight", hidden));
  head.input_norm_.insert(head.input_norm_.end(), hidden_norm.begin(), hidden_norm.end());
  TERRACE_TRY(head.head_norm_, loader.vector(prefix + "shared_head_norm.weight", hidden));
  TERRACE_TRY(head.projection_, loader.matrix(prefix + "eh_proj.weight", hidden, 2 * hidden));
  head.blocks_ = std::move(blocks);
  return head;
}

size_t DraftHead::workspace() const {
  return std::max(
      {Workspace::padded(projection_->inputs()), blocks_.mixer->workspace(), blocks_.feed_forward->workspace()});
}

void DraftHead::forward(const StepContext& context, Rows embeddings, Rows hidden, Rows x) const {
  const size_t width = embeddings.width;
  context.work.begin(x.count * workspace());
  const Rows both = context.work.rows(x.count, 2 * width);
  for (size_t r = 0; r < x.count; ++r) {
    std::memcpy(both.row(r), embeddings.row(r), width * sizeof(float));
    std::memcpy(both.row(r) + width, hidden.row(r), width * sizeof(float));
  }
  const compute::Linear projection[] = {{projection_.get(), nullptr, x}};
  context.backend.linear(both, compute::Norm{input_norm_.data(), epsilon_, 2}, projection);
  for (const Block* block : {blocks_.mixer.get(), blocks_.feed_forward.get()}) {
    context.work.begin(x.count * workspace());
    block->forward(context, x, x);
  }
}

}  // namespace terrace::model
