// granitehybrid: Mamba-2 layers with an attention layer here and there, which may know no positions; dense or mixed
// feed-forwards, the latter with a shared expert.
#include "model/blocks/attention.h"
#include "model/blocks/layer_feed_forward.h"
#include "model/blocks/state_space.h"
#include "model/families/families.h"
#include "model/residual_model.h"

namespace terrace::model {

Result<std::unique_ptr<Model>> load_granite_hybrid(Loader& loader) {
  ResidualModel::Parts parts;
  TERRACE_TRY(const size_t layers, loader.count("block_count", 4096));
  TERRACE_TRY(const auto kv_heads, loader.integers("attention.head_count_kv", layers));
  TERRACE_TRY(StateSpaceShape space, load_state_space_shape(loader));
  TERRACE_TRY(space.residual.scale, loader.number_or("residual_scale", 1));
  TERRACE_TRY(const bool turns, loader.flag_or("rope.scaling.finetuned", true));
  if (turns) {
    TERRACE_TRY(const size_t rotated, loader.count("rope.dimension_count", kMaximumHeadSize));
    TERRACE_TRY(auto rope, load_rope(loader, rotated));
    parts.ropes.push_back(std::move(rope));
  }
  parts.hidden = space.hidden;
  TERRACE_TRY(parts.head, Head::load(loader, space.hidden, space.epsilon));
  const FeedForwardShape dense{space.hidden, space.epsilon, "ffn_norm", compute::GateFunction::silu, space.residual};
  TERRACE_TRY(const auto feed_forwards, LayerFeedForward::read(loader, dense));
  for (size_t layer = 0; layer < layers; ++layer) {
    Layer blocks;
    if (kv_heads[layer] == 0) {
      TERRACE_TRY(blocks.mixer, StateSpaceBlock::load(loader, space, layer));
    } else {
      TERRACE_TRY(auto attention, load_attention_shape(loader, compute::RopePairs::adjacent, layer));
      attention.residual = space.residual;
      attention.rope = turns ? 0 : kNoRope;
      TERRACE_TRY(blocks.mixer, AttentionBlock::load(loader, attention, layer));
    }
    TERRACE_TRY(blocks.feed_forward, feed_forwards.load(loader, layer));
    parts.layers.push_back(std::move(blocks));
  }
  return ResidualModel::create(loader, std::move(parts));
}

}  // namespace terrace::model
