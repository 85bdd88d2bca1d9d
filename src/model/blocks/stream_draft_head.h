// The multi-token-prediction head of models with several residual streams: it reads the trunk's streams and the next
// token's embedding, and has a layer and a final mixer of its own.
#pragma once

#include "model/blocks/stream_layer.h"

namespace terrace::model {

class StreamDraftHead {
 public:
  /// Loads `blk.<layer>.nextn.*` around the given layer. The projections may be two matrices or one side by side.
  static Result<StreamDraftHead> load(Loader& loader, const HyperConnectionShape& shape, size_t layer,
                                      StreamLayer stream_layer);

  size_t workspace() const;  ///< floats per row
  /// streams = the layer's output for the given embeddings and the streams `hidden`.
  void forward(const StepContext& context, compute::Rows embeddings, compute::Rows hidden, compute::Rows streams) const;
  const HyperConnection& mixer() const { return *mixer_; }

 private:
  HyperConnectionShape shape_;
  std::vector<float> embedding_norm_, hidden_norm_;
  MatrixPtr embedding_, hidden_;
  std::optional<StreamLayer> layer_;
  std::optional<HyperConnection> mixer_;
};

}  // namespace terrace::model
