// gemma4: heads of two sizes, shared keys and values, per-layer embeddings, experts beside the dense branch.
#include "tools/convert/blocks.h"
#include "tools/convert/family.h"

namespace terrace::tools {
namespace {

/// Sizes of sliding layers, and of full ones where they differ.
struct Model {
  Sizes sliding, full;
  std::vector<std::string> types;
  uint64_t shared = 0;     ///< layers at the end that have no keys and values of their own
  uint64_t per_layer = 0;  ///< width of the per-layer embeddings
  bool wide = false;       ///< layers that share have twice the width
  std::string root;

  bool is_full(uint64_t i) const { return types[i] == "full_attention"; }
  bool shares(uint64_t i) const { return i + shared >= types.size(); }
  const Sizes& sizes(uint64_t i) const { return is_full(i) ? full : sliding; }
  uint64_t width(uint64_t i) const { return sliding.feed_forward * (wide && shares(i) ? 2 : 1); }
};

Model read_model(Job& job) {
  const Config& config = job.config;
  Model model;
  model.root = find_root(job.plan);
  model.sliding = model.full = read_sizes(config);
  model.types = layer_types(config, model.sliding.layers, "sliding_attention");
  model.shared = config.count_or_none("num_kv_shared_layers", model.sliding.layers);
  model.per_layer = config.count_or_none("hidden_size_per_layer_input", 1 << 20);
  model.wide = config.flag("use_double_wide_mlp", false);
  // Full layers' sizes stand in keys of their own, or layer by layer.
  const Config layers = config.section("per_layer_config");
  for (uint64_t i = 0; i < model.types.size(); ++i) {
    if (!model.is_full(i)) continue;
    const Config one = layers.section(std::to_string(i).c_str());
    model.full.head_size = one.count_or("head_dim", model.full.head_size, 65536);
    model.full.kv_heads = one.count_or("num_key_value_heads", model.full.kv_heads, 65536);
  }
  model.full.head_size = config.count_or("global_head_dim", model.full.head_size, 65536);
  model.full.kv_heads = config.count_or("num_global_key_value_heads", model.full.kv_heads, 65536);
  return model;
}

void write_keys(Job& job, const Model& model) {
  ModelKeys& keys = job.keys;
  const uint64_t layers = model.types.size();
  write_standard_keys(job, model.sliding, layers);
  keys.count("attention.sliding_window", job.config.count("sliding_window"));
  keys.count("attention.shared_kv_layers", model.shared);
  keys.count("embedding_length_per_layer_input", model.per_layer);
  keys.count("attention.key_length", model.full.head_size);
  keys.count("attention.value_length", model.full.head_size);
  keys.count("attention.key_length_swa", model.sliding.head_size);
  keys.count("attention.value_length_swa", model.sliding.head_size);
  keys.count("rope.dimension_count", model.full.head_size);
  keys.count("rope.dimension_count_swa", model.sliding.head_size);
  if (job.config.has("final_logit_softcapping"))
    keys.number("final_logit_softcapping", job.config.number("final_logit_softcapping"));
  std::vector<bool> sliding(layers);
  std::vector<uint64_t> widths(layers), kv_heads(layers);
  for (uint64_t i = 0; i < layers; ++i) {
    sliding[i] = model.types[i] == "sliding_attention";
    widths[i] = model.width(i);
    kv_heads[i] = model.sizes(i).kv_heads;
  }
  keys.flags("attention.sliding_window_pattern", sliding);
  if (model.wide) keys.counts("feed_forward_length", widths);
  if (model.full.kv_heads != model.sliding.kv_heads) keys.counts("attention.head_count_kv", kv_heads);
}

/// A part of each full layer's pairs turns: the others get a divisor that stops them.
void proportional_rope(Job& job, const Model& model) {
  const Config rope = job.config.section("rope_parameters").section("full_attention");
  const uint64_t size = model.full.head_size;
  const double part = rope.number_or("partial_rotary_factor", 1);
  const auto turning = static_cast<uint64_t>(static_cast<double>(size) * (part > 0 && part < 1 ? part : 1) / 2);
  std::vector<float> divisors(size / 2, 1e30F);
  for (uint64_t i = 0; i < turning && i < divisors.size(); ++i) divisors[i] = 1;
  job.plan.add_constants("rope_freqs.weight", std::move(divisors));
}

void own_attention(const Scope& layer, const Sizes& sizes, bool shares) {
  const Scope from = layer.inside("self_attn.");
  const uint64_t size = sizes.head_size, keys = sizes.kv_heads * size, hidden = sizes.hidden;
  from.copy("q_proj.weight", "attn_q.weight", {sizes.heads * size, hidden});
  from.copy("q_norm.weight", "attn_q_norm.weight", {size});
  from.copy("o_proj.weight", "attn_output.weight", {hidden, sizes.heads * size});
  if (shares) {
    // Older files carry keys and values that nobody reads.
    for (const char* unused : {"k_proj.weight", "v_proj.weight", "k_norm.weight", "v_norm.weight"})
      layer.plan.skip_name(from.from(unused));
    return;
  }
  from.copy("k_proj.weight", "attn_k.weight", {keys, hidden});
  from.copy("k_norm.weight", "attn_k_norm.weight", {size});
  from.copy_if_there("v_proj.weight", "attn_v.weight", {keys, hidden});
}

void experts_beside(const Scope& layer, Job& job, uint64_t hidden) {
  const uint64_t count = job.config.count("num_experts", Config::kMostExperts);
  const uint64_t width = job.config.count(job.config.first_of({"expert_intermediate_size", "moe_intermediate_size"}));
  layer.copy("post_feedforward_layernorm_1.weight", "post_ffw_norm_1.weight", {hidden});
  layer.copy("post_feedforward_layernorm_2.weight", "post_ffw_norm_2.weight", {hidden});
  layer.copy("pre_feedforward_layernorm_2.weight", "pre_ffw_norm_2.weight", {hidden});
  layer.copy("router.proj.weight", "ffn_gate_inp.weight", {count, hidden});
  layer.copy("router.scale", "ffn_gate_inp.scale", {hidden});
  layer.copy("router.per_expert_scale", "ffn_down_exps.scale", {count});
  const char* suffix = layer.has("experts.down_proj.weight") ? ".weight" : "";
  layer.copy(fmt::format("experts.down_proj{}", suffix), "ffn_down_exps.weight", {count, hidden, width});
  layer.copy(fmt::format("experts.gate_up_proj{}", suffix), "ffn_gate_up_exps.weight", {count, 2 * width, hidden});
}

void layer_parts(Job& job, const Model& model, uint64_t index) {
  const Scope layer = layer_scope(job, model.root, index);
  const uint64_t hidden = model.sliding.hidden, width = model.per_layer;
  layer.copy("input_layernorm.weight", "attn_norm.weight", {hidden});
  own_attention(layer, model.sizes(index), model.shares(index));
  layer.copy("post_attention_layernorm.weight", "post_attention_norm.weight", {hidden});
  layer.copy("pre_feedforward_layernorm.weight", "ffn_norm.weight", {hidden});
  feed_forward(layer, "mlp.", "", hidden, model.width(index));
  layer.copy("post_feedforward_layernorm.weight", "post_ffw_norm.weight", {hidden});
  layer.copy("layer_scalar", "layer_output_scale.weight", {1});
  if (job.config.flag("enable_moe_block", false)) experts_beside(layer, job, hidden);
  if (width == 0) return;
  layer.copy("per_layer_input_gate.weight", "inp_gate.weight", {width, hidden});
  layer.copy("per_layer_projection.weight", "proj.weight", {hidden, width});
  layer.copy("post_per_layer_input_norm.weight", "post_norm.weight", {hidden});
}

void describe(Job& job) {
  job.config.add_default("tie_word_embeddings", true);
  const Model model = read_model(job);
  const uint64_t layers = model.types.size(), hidden = model.sliding.hidden;
  write_keys(job, model);
  const char* moe_width = job.config.first_of({"expert_intermediate_size", "moe_intermediate_size"});
  if (job.config.has(moe_width)) job.keys.count("expert_feed_forward_length", job.config.count(moe_width));
  proportional_rope(job, model);
  embedding_and_head(job, model.root, model.sliding);
  final_norm(job, model.root, model.sliding);
  if (model.per_layer > 0) {
    const uint64_t all = layers * model.per_layer;
    const uint64_t rows = job.config.count_or("vocab_size_per_layer_input", model.sliding.vocabulary);
    const Scope from(job.plan, model.root, "");
    from.copy("embed_tokens_per_layer.weight", "per_layer_token_embd.weight", {rows, all});
    from.copy("per_layer_model_projection.weight", "per_layer_model_proj.weight", {all, hidden});
    from.copy("per_layer_projection_norm.weight", "per_layer_proj_norm.weight", {model.per_layer});
  }
  for (uint64_t i = 0; i < layers; ++i) layer_parts(job, model, i);
  skip_towers(job);
}

TokenizerForm tokenizer() {
  TokenizerForm form;
  form.pieces = true;
  form.space_prefix = false;
  form.visible = {"<|channel>",       "<channel|>",       "<|tool_call>", "<tool_call|>",
                  "<|tool_response>", "<tool_response|>", "<|\"|>"};
  return form;
}

}  // namespace

const Family kGemma4 = {"gemma4", {"Gemma4ForConditionalGeneration", "Gemma4ForCausalLM"}, describe, tokenizer()};

}  // namespace terrace::tools
