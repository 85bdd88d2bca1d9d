// lfm2, lfm2moe: gated short convolutions mixed with attention; the first layers' feed-forwards are dense, the others
// may be mixtures. The final norm is called token_embd_norm.
#include "model/blocks/attention.h"
#include "model/blocks/layer_feed_forward.h"
#include "model/blocks/short_convolution.h"
#include "model/families/families.h"
#include "model/residual_model.h"

namespace terrace::model {

Result<std::unique_ptr<Model>> load_lfm2(Loader& loader) {
  ResidualModel::Parts parts;
  TERRACE_TRY(const size_t layers, loader.count("block_count", 4096));
  TERRACE_TRY(const auto kv_heads, loader.integers("attention.head_count_kv", layers));
  TERRACE_TRY(const size_t hidden, loader.count("embedding_length", size_t{1} << 20));
  TERRACE_TRY(const size_t kernel, loader.count("shortconv.l_cache", 64));
  TERRACE_TRY(const float epsilon, loader.epsilon());
  TERRACE_TRY(const size_t heads, loader.count("attention.head_count", 4096));
  TERRACE_TRY(auto rope, load_rope(loader, hidden / heads));
  parts.ropes.push_back(std::move(rope));
  parts.hidden = hidden;
  TERRACE_TRY(parts.head, Head::load(loader, hidden, epsilon, "token_embd_norm.weight"));
  TERRACE_TRY(auto feed_forwards, LayerFeedForward::read(loader, {hidden, epsilon}));
  feed_forwards.set_router(compute::Router::Function::sigmoid);
  for (size_t layer = 0; layer < layers; ++layer) {
    Layer blocks;
    if (kv_heads[layer] == 0) {
      TERRACE_TRY(blocks.mixer, ShortConvolutionBlock::load(loader, {hidden, kernel, epsilon}, layer));
    } else {
      TERRACE_TRY(const auto attention, load_attention_shape(loader, compute::RopePairs::halves, layer));
      TERRACE_TRY(blocks.mixer, AttentionBlock::load(loader, attention, layer));
    }
    TERRACE_TRY(blocks.feed_forward, feed_forwards.load(loader, layer));
    parts.layers.push_back(std::move(blocks));
  }
  return ResidualModel::create(loader, std::move(parts));
}

}  // namespace terrace::model
