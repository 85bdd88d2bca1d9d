// lfm2 and lfm2moe: short convolutions with attention layers between.
#include "tools/convert/blocks.h"
#include "tools/convert/family.h"

namespace terrace::tools {
namespace {

struct Model {
  Sizes sizes;
  std::vector<std::string> types;
  uint64_t kernel = 1;
  std::string root;
};

Model begin(Job& job) {
  Model model = {read_sizes(job.config), {}, job.config.count("conv_L_cache", 4096), find_root(job.plan)};
  const Sizes& sizes = model.sizes;
  const std::vector<uint64_t> attending = job.config.counts("full_attn_idxs");
  if (!job.config.has("layer_types") && !attending.empty()) {
    model.types.assign(sizes.layers, "conv");
    for (const uint64_t layer : attending) {
      if (layer < sizes.layers) model.types[layer] = "full_attention";
    }
  } else {
    model.types = layer_types(job.config, sizes.layers);
  }
  write_standard_keys(job, sizes, sizes.layers);
  std::vector<uint64_t> kv_heads;
  for (const std::string& type : model.types) kv_heads.push_back(type == "conv" ? 0 : sizes.kv_heads);
  job.keys.counts("attention.head_count_kv", kv_heads);
  job.keys.count("vocab_size", sizes.vocabulary);
  job.keys.count("shortconv.l_cache", model.kernel);
  job.config.add_default("tie_word_embeddings", true);
  embedding_and_head(job, model.root, sizes);
  job.plan.copy(model.root + "embedding_norm.weight", "token_embd_norm.weight", {sizes.hidden});
  return model;
}

void token_mixer(const Scope& layer, const Model& model, uint64_t index) {
  const uint64_t hidden = model.sizes.hidden, kernel = model.kernel;
  layer.copy("operator_norm.weight", "attn_norm.weight", {hidden});
  layer.copy("ffn_norm.weight", "ffn_norm.weight", {hidden});
  if (model.types[index] != "conv") {
    AttentionForm form;
    form.output = "out_proj";
    form.query_norm = "q_layernorm";
    form.key_norm = "k_layernorm";
    return attention(layer, model.sizes, form);
  }
  layer.copy("conv.conv.weight", "shortconv.conv.weight", {hidden, 1, kernel}, {{}, Change::none, {hidden, kernel}});
  layer.copy("conv.in_proj.weight", "shortconv.in_proj.weight", {3 * hidden, hidden});
  layer.copy("conv.out_proj.weight", "shortconv.out_proj.weight", {hidden, hidden});
}

void dense(const Scope& layer, uint64_t hidden, uint64_t width) {
  layer.copy("feed_forward.w1.weight", "ffn_gate.weight", {width, hidden});
  layer.copy("feed_forward.w3.weight", "ffn_up.weight", {width, hidden});
  layer.copy("feed_forward.w2.weight", "ffn_down.weight", {hidden, width});
}

/// The width that the configuration only leads to.
uint64_t adjusted_width(const Config& config) {
  const uint64_t width = config.count(config.first_of({"block_ff_dim", "intermediate_size"}));
  if (!config.flag("block_auto_adjust_ff_dim", false)) return width;
  const uint64_t multiple = config.count("block_multiple_of", 1 << 20);
  const double factor = config.number_or("block_ffn_dim_multiplier", 1);
  if (!(factor > 0 && factor < 1000)) config.refuse("'block_ffn_dim_multiplier' is not between 0 and 1000");
  const double scaled = factor * static_cast<double>(2 * width / 3);
  return (static_cast<uint64_t>(scaled > 0 ? scaled : 1) + multiple - 1) / multiple * multiple;
}

void describe_dense(Job& job) {
  const Model model = begin(job);
  const uint64_t width = adjusted_width(job.config);
  job.keys.count("feed_forward_length", width);
  for (uint64_t i = 0; i < model.sizes.layers; ++i) {
    const Scope layer = layer_scope(job, model.root, i);
    token_mixer(layer, model, i);
    dense(layer, model.sizes.hidden, width);
  }
}

void describe_experts(Job& job) {
  const Model model = begin(job);
  const Config& config = job.config;
  const uint64_t hidden = model.sizes.hidden, width = config.count("moe_intermediate_size");
  const uint64_t count = config.count("num_experts", Config::kMostExperts);
  const uint64_t leading = config.count_or_none("num_dense_layers", Config::kMostLayers);
  if (config.number_or("routed_scaling_factor", 1) != 1)
    config.refuse("'routed_scaling_factor' is not 1, and a GGUF of this architecture has no key for it");
  job.keys.count("expert_feed_forward_length", width);
  job.keys.count("leading_dense_block_count", leading);
  job.keys.count("expert_gating_func", 2);  // sigmoid
  for (uint64_t i = 0; i < model.sizes.layers; ++i) {
    const Scope layer = layer_scope(job, model.root, i);
    token_mixer(layer, model, i);
    if (i < leading) {
      dense(layer, hidden, model.sizes.feed_forward);
      continue;
    }
    layer.copy("feed_forward.gate.weight", "ffn_gate_inp.weight", {count, hidden});
    layer.copy_if_there("feed_forward.expert_bias", "exp_probs_b.bias", {count});
    stack_experts(layer, "feed_forward.experts.{}.w1.weight", "ffn_gate_exps.weight", count, {width, hidden});
    stack_experts(layer, "feed_forward.experts.{}.w3.weight", "ffn_up_exps.weight", count, {width, hidden});
    stack_experts(layer, "feed_forward.experts.{}.w2.weight", "ffn_down_exps.weight", count, {hidden, width});
  }
}

}  // namespace

const Family kLfm2 = {"lfm2", {"Lfm2ForCausalLM", "LFM2ForCausalLM"}, describe_dense, {{"lfm2"}}};
const Family kLfm2Moe = {"lfm2moe", {"Lfm2MoeForCausalLM"}, describe_experts, {{"lfm2"}}};

}  // namespace terrace::tools
