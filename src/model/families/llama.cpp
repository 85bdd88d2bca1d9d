// llama, qwen2, qwen3, granite, qwen3moe, gpt-oss: attention in every layer and a dense or a mixed feed-forward, each
// behind an RMS norm, on one residual. They differ in a few names and constants; biases, q/k norms and sinks are taken
// where the file has them.
#include "model/blocks/attention.h"
#include "model/blocks/layer_feed_forward.h"
#include "model/families/families.h"
#include "model/residual_model.h"

namespace terrace::model {
namespace {

struct Variant {
  compute::RopePairs pairs = compute::RopePairs::halves;
  std::string feed_forward_norm = "ffn_norm";
  compute::GateFunction function = compute::GateFunction::silu;
  size_t sliding_period = 0;  ///< layers come in groups of so many, of which all but the last slide; 0: none slides
  bool round_yarn = true;
};

Result<std::unique_ptr<Model>> load_variant(Loader& loader, const Variant& variant) {
  ResidualModel::Parts parts;
  TERRACE_TRY(const AttentionShape first, load_attention_shape(loader, variant.pairs));
  Residual residual;
  TERRACE_TRY(residual.scale, loader.number_or("residual_scale", 1));
  TERRACE_TRY(const size_t window, loader.count_or_zero("attention.sliding_window", size_t{1} << 30));
  TERRACE_TRY(const size_t layers, loader.count("block_count", 4096));
  TERRACE_TRY(const size_t rotated, loader.count_or("rope.dimension_count", first.key_size, first.key_size));
  TERRACE_TRY(auto rope, load_rope(loader, rotated, variant.round_yarn));
  parts.ropes.push_back(std::move(rope));
  parts.hidden = first.hidden;
  TERRACE_TRY(parts.head, Head::load(loader, first.hidden, first.epsilon));
  const FeedForwardShape dense{first.hidden, first.epsilon, variant.feed_forward_norm, variant.function, residual};
  TERRACE_TRY(const auto feed_forwards, LayerFeedForward::read(loader, dense));
  for (size_t layer = 0; layer < layers; ++layer) {
    const bool slides = variant.sliding_period > 0 && (layer + 1) % variant.sliding_period != 0;
    TERRACE_TRY(AttentionShape attention, load_attention_shape(loader, variant.pairs, layer));
    attention.residual = residual;
    attention.window = slides ? static_cast<int32_t>(window) : 0;
    TERRACE_TRY(auto mixer, AttentionBlock::load(loader, attention, layer));
    TERRACE_TRY(auto feed_forward, feed_forwards.load(loader, layer));
    parts.layers.push_back({std::move(mixer), std::move(feed_forward)});
  }
  return ResidualModel::create(loader, std::move(parts));
}

}  // namespace

/// Llama 1 to 3, Mistral, SmolLM, llm-jp; Granite, whose four multipliers are metadata.
Result<std::unique_ptr<Model>> load_llama(Loader& loader) {
  return load_variant(loader, {.pairs = compute::RopePairs::adjacent});
}

/// Qwen2, Qwen2.5, Qwen3 and Qwen3-MoE.
Result<std::unique_ptr<Model>> load_qwen(Loader& loader) { return load_variant(loader, {}); }

/// gpt-oss. Its released YaRN settings do not round the correction range, for which GGUF has no key.
Result<std::unique_ptr<Model>> load_gpt_oss(Loader& loader) {
  return load_variant(loader, {.feed_forward_norm = "post_attention_norm",
                               .function = compute::GateFunction::clamped_swiglu,
                               .sliding_period = 2,
                               .round_yarn = false});
}

}  // namespace terrace::model
