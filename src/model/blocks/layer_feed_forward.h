// Each layer's feed-forward: a mixture of experts where the file has experts, except in the first dense layers.
#pragma once

#include "model/blocks/mixture.h"

namespace terrace::model {

class LayerFeedForward {
 public:
  /// Reads expert counts, widths and the number of leading dense layers from metadata.
  static Result<LayerFeedForward> read(const Loader& loader, const FeedForwardShape& shape);

  void set_router(compute::Router::Function router) { mixture_.router = router; }
  Result<BlockPtr> load(Loader& loader, size_t layer) const;

 private:
  FeedForwardShape dense_;
  MixtureShape mixture_;
  bool mixed_ = false;
  size_t dense_layers_ = 0;
};

}  // namespace terrace::model
