// qwen3next, qwen35 and qwen35moe: gated delta nets with a layer of gated attention now and then, and a draft head.
#include "tools/convert/delta_net.h"
#include "tools/convert/family.h"

namespace terrace::tools {
namespace {

const How kNorm = {{}, Change::add_one, {}};

struct Model {
  Sizes sizes;
  DeltaSizes delta;
  bool joined = false;  ///< the delta net's projections are joined
  bool mixtures = false;
  MixtureSizes mixture;
};

void feed_forward_of(const Scope& layer, const Model& model) {
  const uint64_t hidden = model.sizes.hidden;
  layer.copy("post_attention_layernorm.weight", "post_attention_norm.weight", {hidden}, kNorm);
  if (model.mixtures)
    mixture(layer, model.mixture, hidden);
  else
    feed_forward(layer, "mlp.", "", hidden, model.sizes.feed_forward);
}

void attention_layer(const Scope& layer, const Model& model) {
  layer.copy("input_layernorm.weight", "attn_norm.weight", {model.sizes.hidden}, kNorm);
  gated_attention(layer, model.sizes);
  feed_forward_of(layer, model);
}

void delta_layer(const Scope& layer, const Model& model) {
  layer.copy("input_layernorm.weight", "attn_norm.weight", {model.sizes.hidden}, kNorm);
  if (model.joined)
    joined_delta_net(layer, model.sizes, model.delta);
  else
    delta_net(layer, model.sizes, model.delta);
  feed_forward_of(layer, model);
}

void draft_head(Job& job, const std::string& root, const Model& model) {
  const uint64_t hidden = model.sizes.hidden;
  const std::string block = fmt::format("blk.{}.", model.sizes.layers);
  const Scope head(job.plan, root, block + "nextn.");
  head.copy("fc.weight", "eh_proj.weight", {hidden, 2 * hidden});
  head.copy("pre_fc_norm_embedding.weight", "enorm.weight", {hidden}, kNorm);
  head.copy("pre_fc_norm_hidden.weight", "hnorm.weight", {hidden}, kNorm);
  head.copy("norm.weight", "shared_head_norm.weight", {hidden}, kNorm);
  attention_layer(Scope(job.plan, root + "layers.0.", block), model);
}

void describe(Job& job, bool joined, bool mixtures) {
  Model model = {read_sizes(job.config), read_delta_sizes(job.config), joined, mixtures, {}};
  const Sizes& sizes = model.sizes;
  const std::string root = find_root(job.plan), draft = find_draft_root(job.plan);
  const uint64_t blocks = sizes.layers + (draft.empty() ? 0 : 1);
  const std::vector<std::string> types = layer_types(job.config, sizes.layers);
  write_standard_keys(job, sizes, blocks);
  if (mixtures) {
    model.mixture = read_mixture_sizes(job.config);
    write_mixture_keys(job, model.mixture);
  }
  if (!draft.empty()) job.keys.count("nextn_predict_layers", 1);
  write_delta_keys(job, sizes, model.delta, types, blocks);

  embedding_and_head(job, root, sizes);
  final_norm(job, root, sizes, Change::add_one);
  for (uint64_t i = 0; i < sizes.layers; ++i) {
    const Scope layer = layer_scope(job, root, i);
    if (types[i] == "linear_attention")
      delta_layer(layer, model);
    else
      attention_layer(layer, model);
  }
  if (!draft.empty()) draft_head(job, draft, model);
  skip_towers(job);
}

/// Files of these families always have sections.
void default_sections(Job& job) {
  if (!job.config.section("rope_parameters").has("mrope_section"))
    job.keys.counts("rope.dimension_sections", {11, 11, 10, 0});
}

void describe_next(Job& job) { describe(job, true, true); }
void describe_35(Job& job) {
  default_sections(job);
  describe(job, false, false);
}
void describe_35_experts(Job& job) {
  default_sections(job);
  describe(job, false, true);
}

}  // namespace

const Family kQwen3Next = {"qwen3next", {"Qwen3NextForCausalLM"}, describe_next, {}};
const Family kQwen35 = {"qwen35", {"Qwen3_5ForConditionalGeneration", "Qwen3_5ForCausalLM"}, describe_35, {}};
const Family kQwen35Moe = {
    "qwen35moe", {"Qwen3_5MoeForConditionalGeneration", "Qwen3_5MoeForCausalLM"}, describe_35_experts, {}};

}  // namespace terrace::tools
