// Per-layer embeddings: a second table gives each token a few values for each layer, mixed with a projection of its
// embedding; every layer adds a gated projection of its own share.
#pragma once

#include "memory/row_table.h"
#include "model/blocks/block.h"

namespace terrace::model {

/// What the layers' blocks read, for the rows of a step.
class LayerEmbeddings {
 public:
  /// Loads `per_layer_*` for layers that take `size` values each.
  static Result<LayerEmbeddings> load(Loader& loader, size_t vocabulary, size_t layers, size_t size, size_t hidden,
                                      float epsilon);

  size_t width() const { return projection_->rows(); }             ///< of all layers together
  size_t workspace() const { return Workspace::padded(width()); }  ///< floats per row
  /// out row = (norm(projection of the embedding) + the token's row of the table) / sqrt(2)
  Status forward(compute::Backend& backend, Workspace& work, std::span<const int32_t> tokens, compute::Rows embeddings,
                 compute::Rows out) const;

 private:
  std::unique_ptr<memory::RowTable> table_;
  MatrixPtr projection_;
  std::vector<float> gain_;  ///< the norm's of one layer's values, repeated
  size_t layers_ = 0;
  float epsilon_ = 0;
};

/// out (+)= projection(gelu(gate(x)) . the layer's values)
class LayerEmbeddingBlock : public Block {
 public:
  /// Loads `blk.<layer>.inp_gate` and `proj`.
  static Result<BlockPtr> load(Loader& loader, size_t hidden, size_t size, const Residual& residual, size_t layer);

  size_t workspace() const override { return Workspace::padded(gate_->rows()); }
  void forward(const StepContext& context, compute::Rows x, compute::Rows out) const override;

 private:
  MatrixPtr gate_, projection_;
  Residual residual_;
  size_t layer_ = 0;
};

}  // namespace terrace::model
