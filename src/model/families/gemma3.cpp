// gemma3: norms before and behind each branch, sliding layers with a rope of their own, and every so often a full one.
#include <cmath>

#include "model/blocks/attention.h"
#include "model/blocks/feed_forward.h"
#include "model/blocks/post_norm.h"
#include "model/families/families.h"
#include "model/residual_model.h"

namespace terrace::model {
namespace {

enum Rope : size_t { full, sliding };

/// The scale of the scores. The 27B model's queries are scaled as if its heads were hidden / heads wide, for which the
/// file has no key: its number of layers tells.
float score_scale(const AttentionShape& shape, size_t layers) {
  constexpr size_t layers_of_27b = 62;
  const size_t size = layers == layers_of_27b ? shape.hidden / shape.heads : shape.key_size;
  return static_cast<float>(1 / std::sqrt(static_cast<double>(size)));
}

}  // namespace

Result<std::unique_ptr<Model>> load_gemma3(Loader& loader) {
  ResidualModel::Parts parts;
  TERRACE_TRY(AttentionShape attention, load_attention_shape(loader, compute::RopePairs::halves));
  TERRACE_TRY(const size_t layers, loader.count("block_count", 4096));
  TERRACE_TRY(const size_t window, loader.count_or_zero("attention.sliding_window", size_t{1} << 30));
  TERRACE_TRY(const size_t period, loader.count_or("attention.sliding_window_pattern", 6, 4096));
  const size_t hidden = attention.hidden;
  const float epsilon = attention.epsilon;
  attention.scale = score_scale(attention, layers);
  attention.residual.accumulate = false;
  TERRACE_TRY(auto full_rope, load_rope(loader, attention.key_size));
  TERRACE_TRY(auto sliding_rope, load_plain_rope(loader, "rope.freq_base_swa", attention.key_size));
  parts.ropes = {std::move(full_rope), std::move(sliding_rope)};
  parts.hidden = hidden;
  const auto embedding_scale = static_cast<float>(std::sqrt(static_cast<double>(hidden)));
  TERRACE_TRY(parts.head, Head::load(loader, hidden, epsilon, "output_norm.weight", embedding_scale));
  const FeedForwardShape dense{hidden, epsilon, "ffn_norm", compute::GateFunction::gelu_tanh, attention.residual};
  for (size_t layer = 0; layer < layers; ++layer) {
    const bool slides = window > 0 && (layer + 1) % period != 0;
    attention.window = slides ? static_cast<int32_t>(window) : 0;
    attention.rope = slides ? Rope::sliding : Rope::full;
    TERRACE_TRY(auto mixer, AttentionBlock::load(loader, attention, layer));
    TERRACE_TRY(const size_t width, loader.count_of_layer("feed_forward_length", layer, std::nullopt, 1 << 24));
    TERRACE_TRY(auto feed_forward, FeedForwardBlock::load(loader, dense, width, layer));
    Layer blocks;
    TERRACE_TRY(blocks.mixer, PostNorm::load(loader, std::move(mixer), "post_attention_norm", hidden, epsilon, layer));
    TERRACE_TRY(blocks.feed_forward,
                PostNorm::load(loader, std::move(feed_forward), "post_ffw_norm", hidden, epsilon, layer));
    parts.layers.push_back(std::move(blocks));
  }
  return ResidualModel::create(loader, std::move(parts));
}

}  // namespace terrace::model
