#include "model/blocks/layer_feed_forward.h"

namespace terrace::model {

Result<LayerFeedForward> LayerFeedForward::read(const Loader& loader, const FeedForwardShape& shape) {
  LayerFeedForward result;
  result.dense_ = shape;
  TERRACE_TRY(const size_t experts, loader.count_or_zero("expert_count", 65536));
  TERRACE_TRY(result.dense_layers_, loader.count_or_zero("leading_dense_block_count", 4096));
  result.mixed_ = experts > 0;
  if (result.mixed_) {
    TERRACE_TRY(result.mixture_, load_mixture_shape(loader, shape));
  }
  return result;
}

Result<BlockPtr> LayerFeedForward::load(Loader& loader, size_t layer) const {
  if (mixed_ && layer >= dense_layers_) return MixtureBlock::load(loader, mixture_, layer);
  TERRACE_TRY(const size_t width, loader.count_of_layer("feed_forward_length", layer, std::nullopt, 1 << 24));
  return FeedForwardBlock::load(loader, dense_, width, layer);
}

}  // namespace terrace::model
