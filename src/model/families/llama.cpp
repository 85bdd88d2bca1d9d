// llama, qwen2, qwen3, granite, qwen3moe, gpt-oss: attention in every layer and a dense or a mixed feed-forward, each
// behind an RMS norm, on one residual. They differ in a few names and constants; biases, q/k norms and sinks are taken
// where the file has them.
#include "model/blocks/attention.h"
#include "model/blocks/mixture.h"
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
  TERRACE_TRY(const size_t window, loader.count_or("attention.sliding_window", 0, size_t{1} << 30));
  TERRACE_TRY(const size_t layers, loader.count("block_count", 4096));
  TERRACE_TRY(const size_t rotated, loader.count_or("rope.dimension_count", first.key_size, first.key_size));
  TERRACE_TRY(auto rope, load_rope(loader, rotated, variant.round_yarn));
  parts.ropes.push_back(std::move(rope));
  parts.hidden = first.hidden;
  TERRACE_TRY(parts.head, Head::load(loader, first.hidden, first.epsilon));
  const FeedForwardShape dense{first.hidden, first.epsilon, variant.feed_forward_norm, variant.function, residual};
  const bool mixed = loader.has_key("expert_count");
  MixtureShape mixture;
  if (mixed) {
    TERRACE_TRY(mixture, load_mixture_shape(loader, dense));
  }
  for (size_t layer = 0; layer < layers; ++layer) {
    const bool slides = variant.sliding_period > 0 && (layer + 1) % variant.sliding_period != 0;
    TERRACE_TRY(AttentionShape attention, load_attention_shape(loader, variant.pairs, layer));
    attention.residual = residual;
    attention.window = slides ? static_cast<int32_t>(window) : 0;
    TERRACE_TRY(auto mixer, AttentionBlock::load(loader, attention, layer));
    BlockPtr feed_forward;
    if (mixed) {
      TERRACE_TRY(feed_forward, MixtureBlock::load(loader, mixture, layer));
    } else {
      TERRACE_TRY(const size_t width, loader.count_of_layer("feed_forward_length", layer, std::nullopt, 1 << 24));
      TERRACE_TRY(feed_forward, FeedForwardBlock::load(loader, dense, width, layer));
    }
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
