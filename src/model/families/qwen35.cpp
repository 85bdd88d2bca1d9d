// qwen3next, qwen35, qwen35moe: gated delta nets with a gated attention layer every so often, dense or mixed
// feed-forwards with a shared expert, and a head that drafts the token after the next. The interleaved M-RoPE sections
// are plain rope for text, whose three positions are equal.
#include "model/blocks/attention.h"
#include "model/blocks/delta_net.h"
#include "model/blocks/layer_feed_forward.h"
#include "model/families/families.h"
#include "model/residual_model.h"

namespace terrace::model {
namespace {

/// Which layers are recurrent: a list, or all but every n-th.
Result<std::vector<int64_t>> recurrent_layers(const Loader& loader, size_t layers) {
  if (loader.has_key("attention.recurrent_layers")) return loader.integers("attention.recurrent_layers", layers);
  TERRACE_TRY(const size_t interval, loader.count_or("full_attention_interval", 4, 4096));
  std::vector<int64_t> recurrent(layers);
  for (size_t layer = 0; layer < layers; ++layer) recurrent[layer] = (layer + 1) % interval != 0;
  return recurrent;
}

Result<std::unique_ptr<Model>> load_hybrid(Loader& loader, bool adjacent) {
  ResidualModel::Parts parts;
  TERRACE_TRY(AttentionShape attention, load_attention_shape(loader, compute::RopePairs::halves));
  TERRACE_TRY(DeltaNetShape delta_net, load_delta_net_shape(loader));
  attention.gated = true;
  delta_net.adjacent = adjacent;
  TERRACE_TRY(const size_t layers, loader.trunk_layers());
  TERRACE_TRY(const auto recurrent, recurrent_layers(loader, layers));
  TERRACE_TRY(const size_t rotated, loader.count_or("rope.dimension_count", attention.key_size, attention.key_size));
  TERRACE_TRY(auto rope, load_rope(loader, rotated));
  parts.ropes.push_back(std::move(rope));
  parts.hidden = attention.hidden;
  TERRACE_TRY(parts.head, Head::load(loader, attention.hidden, attention.epsilon));
  const FeedForwardShape dense{attention.hidden, attention.epsilon, "post_attention_norm"};
  TERRACE_TRY(const auto feed_forwards, LayerFeedForward::read(loader, dense));
  for (size_t layer = 0; layer < layers; ++layer) {
    Layer blocks;
    if (recurrent[layer]) {
      TERRACE_TRY(blocks.mixer, DeltaNetBlock::load(loader, delta_net, layer));
    } else {
      TERRACE_TRY(blocks.mixer, AttentionBlock::load(loader, attention, layer));
    }
    TERRACE_TRY(blocks.feed_forward, feed_forwards.load(loader, layer));
    parts.layers.push_back(std::move(blocks));
  }
  if (loader.begin_draft_head()) {
    Layer blocks;
    TERRACE_TRY(blocks.mixer, AttentionBlock::load(loader, attention, layers));
    TERRACE_TRY(blocks.feed_forward, feed_forwards.load(loader, layers));
    TERRACE_TRY(parts.draft_head,
                DraftHead::load(loader, attention.hidden, attention.epsilon, layers, std::move(blocks)));
  }
  return ResidualModel::create(loader, std::move(parts));
}

}  // namespace

Result<std::unique_ptr<Model>> load_qwen3next(Loader& loader) { return load_hybrid(loader, /*adjacent=*/true); }
Result<std::unique_ptr<Model>> load_qwen35(Loader& loader) { return load_hybrid(loader, /*adjacent=*/false); }

}  // namespace terrace::model
