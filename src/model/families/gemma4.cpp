// gemma4: norms before and behind each branch; sliding layers and full ones with heads and a rope of their own; the
// last layers may share earlier keys and values; experts may work beside the dense feed-forward; per-layer embeddings.
#include <array>
#include <cmath>

#include "model/blocks/attention.h"
#include "model/blocks/mixture.h"
#include "model/blocks/post_norm.h"
#include "model/families/families.h"
#include "model/residual_model.h"

namespace terrace::model {
namespace {

float root(size_t value) { return static_cast<float>(std::sqrt(static_cast<double>(value))); }

/// Loads the layers one after the other; the later ones may share the keys and values of the earlier.
class Gemma4Layers {
 public:
  explicit Gemma4Layers(Loader& loader) : loader_(loader) {}

  Status load(ResidualModel::Parts& parts);

 private:
  Status load_sizes();
  Result<BlockPtr> attention(size_t layer);
  Result<BlockPtr> feed_forward(size_t layer);
  Result<BlockPtr> experts(size_t layer);
  Result<BlockPtr> post_norm(BlockPtr block, const std::string& norm, size_t layer) {
    return PostNorm::load(loader_, std::move(block), norm, hidden_, epsilon_, layer);
  }

  Loader& loader_;
  size_t layers_ = 0, hidden_ = 0, window_ = 0, shared_layers_ = 0;
  size_t embedding_size_ = 0;  ///< a layer's share of the per-layer embeddings; 0: there are none
  float epsilon_ = 0;
  std::vector<int64_t> slides_;                               ///< per layer
  std::array<std::optional<compute::KvLayer>, 2> latest_kv_;  ///< of full and of sliding layers
};

Status Gemma4Layers::load_sizes() {
  TERRACE_TRY(layers_, loader_.count("block_count", 4096));
  TERRACE_TRY(hidden_, loader_.count("embedding_length", size_t{1} << 20));
  TERRACE_TRY(epsilon_, loader_.epsilon());
  TERRACE_TRY(window_, loader_.count("attention.sliding_window", size_t{1} << 30));
  TERRACE_TRY(slides_, loader_.integers("attention.sliding_window_pattern", layers_));
  TERRACE_TRY(shared_layers_, loader_.count_or_zero("attention.shared_kv_layers", layers_));
  TERRACE_TRY(embedding_size_, loader_.count_or_zero("embedding_length_per_layer_input", size_t{1} << 16));
  return Done{};
}

Result<BlockPtr> Gemma4Layers::attention(size_t layer) {
  const bool slides = slides_[layer] != 0;
  TERRACE_TRY(AttentionShape shape, load_attention_shape(loader_, compute::RopePairs::halves, layer));
  if (slides) {
    TERRACE_TRY(shape.key_size, loader_.count("attention.key_length_swa", kMaximumHeadSize));
    TERRACE_TRY(shape.value_size, loader_.count("attention.value_length_swa", kMaximumHeadSize));
    shape.window = static_cast<int32_t>(window_);
  }
  shape.rope = slides ? 1 : 0;
  shape.scale = 1;
  shape.residual.accumulate = false;
  shape.value_norm = true;
  shape.keys_as_values = !loader_.has(fmt::format("blk.{}.attn_v.weight", layer));
  if (layer >= layers_ - shared_layers_) {
    shape.shared_kv = latest_kv_[slides];
    if (!shape.shared_kv) return fail("layer {} has no earlier layer of its kind to share keys and values with", layer);
  }
  TERRACE_TRY(auto block, AttentionBlock::load(loader_, shape, layer));
  latest_kv_[slides] = block->kv();
  return post_norm(std::move(block), "post_attention_norm", layer);
}

Result<BlockPtr> Gemma4Layers::experts(size_t layer) {
  const FeedForwardShape shape{hidden_, epsilon_, "pre_ffw_norm_2", compute::GateFunction::gelu_tanh, {false}};
  TERRACE_TRY(auto mixture, load_mixture_shape(loader_, shape));
  mixture.router_scale = 1 / root(hidden_);
  TERRACE_TRY(auto block, MixtureBlock::load(loader_, mixture, layer));
  return post_norm(std::move(block), "post_ffw_norm_2", layer);
}

Result<BlockPtr> Gemma4Layers::feed_forward(size_t layer) {
  const FeedForwardShape shape{hidden_, epsilon_, "ffn_norm", compute::GateFunction::gelu_tanh, {false}};
  TERRACE_TRY(const size_t width, loader_.count_of_layer("feed_forward_length", layer, std::nullopt, 1 << 24));
  TERRACE_TRY(auto block, FeedForwardBlock::load(loader_, shape, width, layer));
  if (loader_.has(fmt::format("blk.{}.ffn_gate_inp.weight", layer))) {
    std::vector<BlockPtr> branches(2);
    TERRACE_TRY(branches[0], post_norm(std::move(block), "post_ffw_norm_1", layer));
    TERRACE_TRY(branches[1], experts(layer));
    block = std::make_unique<Branches>(std::move(branches));
  }
  return post_norm(std::move(block), "post_ffw_norm", layer);
}

Status Gemma4Layers::load(ResidualModel::Parts& parts) {
  TERRACE_CHECK(load_sizes());
  parts.hidden = hidden_;
  TERRACE_TRY(parts.head, Head::load(loader_, hidden_, epsilon_, "output_norm.weight", root(hidden_)));
  if (embedding_size_ > 0) {
    TERRACE_TRY(parts.layer_embeddings,
                LayerEmbeddings::load(loader_, parts.head->vocabulary(), layers_, embedding_size_, hidden_, epsilon_));
  }
  for (size_t layer = 0; layer < layers_; ++layer) {
    Layer blocks;
    TERRACE_TRY(blocks.mixer, attention(layer));
    TERRACE_TRY(blocks.feed_forward, feed_forward(layer));
    if (embedding_size_ > 0) {
      TERRACE_TRY(auto addition, LayerEmbeddingBlock::load(loader_, hidden_, embedding_size_, {false}, layer));
      TERRACE_TRY(blocks.addition, post_norm(std::move(addition), "post_norm", layer));
    }
    TERRACE_TRY(const auto scale, loader_.vector_or_none(fmt::format("blk.{}.layer_output_scale.weight", layer), 1));
    if (!scale.empty()) blocks.scale = scale[0];
    parts.layers.push_back(std::move(blocks));
  }
  return Done{};
}

}  // namespace

Result<std::unique_ptr<Model>> load_gemma4(Loader& loader) {
  ResidualModel::Parts parts;
  TERRACE_TRY(const size_t rotated, loader.count("rope.dimension_count", kMaximumHeadSize));
  TERRACE_TRY(const size_t sliding_rotated, loader.count("rope.dimension_count_swa", kMaximumHeadSize));
  TERRACE_TRY(auto full_rope, load_rope(loader, rotated));
  TERRACE_TRY(auto sliding_rope, load_plain_rope(loader, "rope.freq_base_swa", sliding_rotated));
  parts.ropes = {std::move(full_rope), std::move(sliding_rope)};
  TERRACE_CHECK(Gemma4Layers(loader).load(parts));
  return ResidualModel::create(loader, std::move(parts));
}

}  // namespace terrace::model
