#include "model/blocks/stream_draft_head.h"

namespace terrace::model {

using compute::Rows;

Result<StreamDraftHead> StreamDraftHead::load(Loader& loader, const HyperConnectionShape& shape, size_t layer,
                                              StreamLayer stream_layer) {
  StreamDraftHead head;
  head.shape_ = shape;
  const std::string prefix = fmt::format("blk.{}.nextn.", layer);
  const size_t hidden = shape.hidden;
  TERRACE_TRY(head.embedding_norm_, loader.vector(prefix + "enorm.weight", hidden));
  TERRACE_TRY(head.hidden_norm_, loader.vector(prefix + "hnorm.weight", shape.streams * hidden));
  if (loader.has(prefix + "eh_proj.weight")) {
    TERRACE_TRY(head.embedding_, loader.matrix_of_columns(prefix + "eh_proj.weight", hidden, 2 * hidden, 0, hidden));
    TERRACE_TRY(head.hidden_, loader.matrix_of_columns(prefix + "eh_proj.weight", hidden, 2 * hidden, hidden, hidden));
  } else {
    TERRACE_TRY(head.embedding_, loader.matrix(prefix + "e_proj.weight", hidden, hidden));
    TERRACE_TRY(head.hidden_, loader.matrix(prefix + "h_proj.weight", hidden, hidden));
  }
  TERRACE_TRY(head.mixer_, HyperConnection::load(loader, shape, prefix + "hc_", /*inject=*/false));
  head.layer_ = std::move(stream_layer);
  return head;
}

size_t StreamDraftHead::workspace() const {
  return std::max(layer_->workspace(),
                  Workspace::padded(shape_.hidden) + Workspace::padded(shape_.streams * shape_.hidden));
}

void StreamDraftHead::forward(const StepContext& context, Rows embeddings, Rows hidden, Rows streams) const {
  const size_t rows = streams.count, width = shape_.hidden;
  context.work.begin(rows * workspace());
  const Rows projected = context.work.rows(rows, width), normed = context.work.rows(rows, streams.width);
  const compute::Linear embedding[] = {{embedding_.get(), nullptr, projected}};
  context.backend.linear(embeddings, compute::Norm{embedding_norm_.data(), shape_.epsilon}, embedding);
  // One norm over all streams, then the same projection for each.
  context.backend.normalize(hidden, {hidden_norm_.data(), shape_.epsilon}, normed);
  for (size_t stream = 0; stream < shape_.streams; ++stream) {
    const auto part = [&](Rows all) { return Rows{all.data + stream * width, rows, width, all.stride}; };
    const compute::Linear projection[] = {{hidden_.get(), nullptr, part(streams)}};
    context.backend.linear(part(normed), std::nullopt, projection);
    context.backend.add(projected, std::nullopt, 1, part(streams));
  }
  layer_->forward(context, streams);
}

}  // namespace terrace::model
