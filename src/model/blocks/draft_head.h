// The multi-token-prediction head of models with one residual stream: a layer of its own that reads the trunk's hidden
// row and the next token's embedding, and predicts the token after that one.
#pragma once

#include "model/blocks/block.h"

namespace terrace::model {

/// A token mixer and a feed-forward.
struct Layer {
  BlockPtr mixer;
  BlockPtr feed_forward;
  BlockPtr addition = nullptr;  ///< optional: a third block behind them
  float scale = 1;              ///< multiplies the residual behind the layer
};

class DraftHead {
 public:
  /// Loads `blk.<layer>.nextn.*` around the given blocks.
  static Result<DraftHead> load(Loader& loader, size_t hidden, float epsilon, size_t layer, Layer blocks);

  size_t workspace() const;  ///< floats per row
  /// x = the layer's output for the given embeddings and hidden rows, before shared_head_norm.
  void forward(const StepContext& context, compute::Rows embeddings, compute::Rows hidden, compute::Rows x) const;
  compute::Norm norm() const { return {head_norm_.data(), epsilon_}; }

 private:
  float epsilon_ = 0;
  std::vector<float> input_norm_;  ///< of the embedding, then of the hidden row
  std::vector<float> head_norm_;
  MatrixPtr projection_;
  Layer blocks_;
};

}  // namespace terrace::model
