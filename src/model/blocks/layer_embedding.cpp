#include "model/blocks/layer_embedding.h"

#include <cmath>

namespace terrace::model {

using compute::Rows;

namespace {
float root(size_t value) { return static_cast<float>(std::sqrt(static_cast<double>(value))); }
}  // namespace

Result<LayerEmbeddings> LayerEmbeddings::load(Loader& loader, size_t vocabulary, size_t layers, size_t size,
                                              size_t hidden, float epsilon) {
  LayerEmbeddings embeddings;
  embeddings.layers_ = layers;
  embeddings.epsilon_ = epsilon;
  TERRACE_TRY(embeddings.table_, loader.row_table("per_layer_token_embd.weight", layers * size));
  if (embeddings.table_->rows() < vocabulary)
    return fail("the per-layer embeddings are of {} tokens, expected {}", embeddings.table_->rows(), vocabulary);
  TERRACE_TRY(embeddings.projection_, loader.matrix("per_layer_model_proj.weight", layers * size, hidden));
  TERRACE_TRY(const auto gain, loader.vector("per_layer_proj_norm.weight", size));
  for (size_t layer = 0; layer < layers; ++layer)
    embeddings.gain_.insert(embeddings.gain_.end(), gain.begin(), gain.end());
  return embeddings;
}

Status LayerEmbeddings::forward(compute::Backend& backend, Workspace& work, std::span<const int32_t> tokens,
                                Rows embeddings, Rows out) const {
  const std::vector<uint64_t> rows(tokens.begin(), tokens.end());
  table_->prefetch(rows);
  compute::Linear projection{projection_.get(), nullptr, out};
  projection.scale = 1 / root(embeddings.width);
  backend.linear(embeddings, std::nullopt, std::span(&projection, 1));
  const float half = 1 / root(2);
  backend.normalize(out, compute::Norm{gain_.data(), epsilon_, layers_}, out);
  backend.scale(half, out);
  const Rows found = work.rows(out.count, width());
  for (size_t r = 0; r < rows.size(); ++r) TERRACE_CHECK(table_->read(std::span(rows).subspan(r, 1), found.row(r)));
  backend.add(found, std::nullopt, root(width() / layers_) * half, out);
  return Done{};
}

Result<BlockPtr> LayerEmbeddingBlock::load(Loader& loader, size_t hidden, size_t size, const Residual& residual,
                                           size_t layer) {
  auto block = std::make_unique<LayerEmbeddingBlock>();
  const std::string prefix = fmt::format("blk.{}.", layer);
  TERRACE_TRY(block->gate_, loader.matrix(prefix + "inp_gate.weight", size, hidden));
  TERRACE_TRY(block->projection_, loader.matrix(prefix + "proj.weight", hidden, size));
  block->residual_ = residual;
  block->layer_ = layer;
  return BlockPtr(std::move(block));
}

void LayerEmbeddingBlock::forward(const StepContext& context, Rows x, Rows out) const {
  const size_t size = gate_->rows();
  const Rows all = context.layer_embeddings, own{all.data + layer_ * size, x.count, size, all.stride};
  const Rows gates = context.work.rows(x.count, size);
  const compute::Linear gate[] = {{gate_.get(), nullptr, gates}};
  context.backend.linear(x, std::nullopt, gate);
  context.backend.gate(compute::GateFunction::gelu_tanh, gates, own, gates);
  const compute::Linear output[] = {{projection_.get(), nullptr, out, residual_.accumulate, residual_.scale}};
  context.backend.linear(gates, std::nullopt, output);
}

}  // namespace terrace::model
