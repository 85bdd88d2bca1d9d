// Models whose layers each add a token mixer's and a feed-forward's result to one residual stream. Families that are of
// this kind only say which blocks there are.
#pragma once

#include "model/blocks/draft_head.h"
#include "model/blocks/head.h"
#include "model/blocks/layer_embedding.h"
#include "model/rope_scaling.h"

namespace terrace::model {

class ResidualModel : public Model {
 public:
  struct Parts {
    size_t hidden = 0;
    std::vector<RopeFrequencies> ropes;
    std::vector<Layer> layers;
    std::optional<Head> head;
    std::optional<DraftHead> draft_head;
    std::optional<LayerEmbeddings> layer_embeddings;
  };
  /// Reads what all models have in common (name, sizes, bytes) from the loader, after the family loaded its parts.
  static Result<std::unique_ptr<Model>> create(Loader& loader, Parts parts);

  Status forward(const Step& step, compute::Rows logits) override;
  Status draft(const DraftStep& step, compute::Rows logits) override;

 private:
  explicit ResidualModel(compute::Backend& backend) : backend_(backend) {}
  /// Begins a step: a row of `streams` residuals of hidden values per position, and the turns; there is room for the
  /// layer embeddings, too.
  std::vector<compute::Rows> begin(size_t rows, size_t streams, std::span<const compute::RowSpan> spans);
  Result<compute::Rows> embed_layers(std::span<const int32_t> tokens, compute::Rows embeddings);

  compute::Backend& backend_;
  Parts parts_;
  size_t block_workspace_ = 0;  ///< floats per row
  Workspace residual_, work_;
  Turns turns_;
};

}  // namespace terrace::model
