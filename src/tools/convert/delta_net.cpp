#include "tools/convert/delta_net.h"

namespace terrace::tools {
namespace {

/// What is the same in both forms; `heads` says where the file has each value head.
void shared_parts(const Scope& from, const Sizes& sizes, const DeltaSizes& delta, const ValueHeads& heads) {
  const uint64_t size = delta.head_size, kernel = delta.kernel, count = delta.value_heads;
  from.copy("A_log", "ssm_a", {count}, {heads.order(1), Change::negative_exp, {}});
  from.copy("dt_bias", "ssm_dt.bias", {count}, {heads.order(1), Change::none, {}});
  from.copy("conv1d.weight", "ssm_conv1d.weight", {delta.channels(), 1, kernel},
            {heads.order(kernel, size, 2 * delta.keys()), Change::none, {delta.channels(), kernel}});
  from.copy("norm.weight", "ssm_norm.weight", {size});
  from.copy("out_proj.weight", "ssm_out.weight", {sizes.hidden, delta.values()},
            {heads.order(size, 1, 0, sizes.hidden), Change::none, {}});
}

}  // namespace

DeltaSizes read_delta_sizes(const Config& config) {
  DeltaSizes delta;
  delta.key_heads = config.count("linear_num_key_heads", 65536);
  delta.value_heads = config.count("linear_num_value_heads", 65536);
  delta.head_size = config.count("linear_key_head_dim", 65536);
  delta.kernel = config.count("linear_conv_kernel_dim", 4096);
  if (config.count("linear_value_head_dim", 65536) != delta.head_size)
    config.refuse("key and value heads of the delta net differ in size, which a GGUF cannot say");
  if (delta.value_heads % delta.key_heads != 0) {
    config.refuse("'linear_num_value_heads' is no multiple of 'linear_num_key_heads'");
    delta.value_heads = delta.key_heads;
  }
  return delta;
}

void write_delta_keys(Job& job, const Sizes& sizes, const DeltaSizes& delta, const std::vector<std::string>& types,
                      uint64_t blocks) {
  ModelKeys& keys = job.keys;
  keys.count("ssm.conv_kernel", delta.kernel);
  keys.count("ssm.state_size", delta.head_size);
  keys.count("ssm.group_count", delta.key_heads);
  keys.count("ssm.time_step_rank", delta.value_heads);
  keys.count("ssm.inner_size", delta.values());
  std::vector<bool> recurrent(blocks, false);
  for (uint64_t i = 0; i < types.size(); ++i) recurrent[i] = types[i] == "linear_attention";
  keys.flags("attention.recurrent_layers", recurrent);
  keys.count("full_attention_interval", job.config.count_or("full_attention_interval", 4));
  const Config rope = job.config.section("rope_parameters");
  const double part = rope.number_or("partial_rotary_factor", 0.25);
  if (!(part > 0 && part <= 1)) return rope.refuse("'partial_rotary_factor' is not between 0 and 1");
  keys.count("rope.dimension_count", static_cast<uint64_t>(static_cast<double>(sizes.head_size) * part));
}

void delta_net(const Scope& layer, const Sizes& sizes, const DeltaSizes& delta) {
  const Scope from = layer.inside("linear_attn.");
  const ValueHeads heads = {delta.key_heads, delta.value_heads};
  const uint64_t hidden = sizes.hidden, size = delta.head_size;
  from.copy("in_proj_qkv.weight", "attn_qkv.weight", {delta.channels(), hidden},
            {heads.order(hidden, size, 2 * delta.keys()), Change::none, {}});
  from.copy("in_proj_z.weight", "attn_gate.weight", {delta.values(), hidden},
            {heads.order(size * hidden), Change::none, {}});
  const How by_head = {heads.order(hidden), Change::none, {}};
  from.copy("in_proj_b.weight", "ssm_beta.weight", {delta.value_heads, hidden}, by_head);
  from.copy("in_proj_a.weight", "ssm_alpha.weight", {delta.value_heads, hidden}, by_head);
  shared_parts(from, sizes, delta, heads);
}

void joined_delta_net(const Scope& layer, const Sizes& sizes, const DeltaSizes& delta) {
  const Scope from = layer.inside("linear_attn.");
  // Per key head: its query, its key, and the values and gates of its value heads.
  const uint64_t key = delta.head_size, value = delta.values() / delta.key_heads, group = 2 * key + 2 * value;
  const uint64_t keys = delta.keys(), hidden = sizes.hidden;
  const auto queries_keys_values = [=](uint64_t row) {
    if (row < 2 * keys) return row % keys / key * group + row / keys * key + row % key;
    const uint64_t place = row - 2 * keys;
    return place / value * group + 2 * key + place % value;
  };
  const auto gates = [=](uint64_t row) { return row / value * group + 2 * key + value + row % value; };
  const Shape shape = {2 * keys + 2 * delta.values(), hidden};
  from.copy("in_proj_qkvz.weight", "attn_qkv.weight", shape,
            {{hidden, delta.channels(), queries_keys_values}, Change::none, {delta.channels(), hidden}});
  from.copy("in_proj_qkvz.weight", "attn_gate.weight", shape,
            {{hidden, delta.values(), gates}, Change::none, {delta.values(), hidden}});
  from.copy("in_proj_ba.weight", "ssm_ba.weight", {2 * delta.value_heads, hidden});
  // One value head per key head leaves all where they are.
  shared_parts(from, sizes, delta, {delta.value_heads, delta.value_heads});
}

void gated_attention(const Scope& layer, const Sizes& sizes) {
  AttentionForm form;
  form.gated = true;
  form.norms = Change::add_one;
  attention(layer, sizes, form);
}

MixtureSizes read_mixture_sizes(const Config& config) {
  return {{config.count(config.first_of({"num_experts", "num_local_experts"}), Config::kMostExperts),
           config.count("moe_intermediate_size")},
          config.count("shared_expert_intermediate_size")};
}

void write_mixture_keys(Job& job, const MixtureSizes& mixture) {
  job.keys.count("expert_feed_forward_length", mixture.experts.width);
  job.keys.count("expert_shared_feed_forward_length", mixture.shared);
}

void mixture(const Scope& layer, const MixtureSizes& mixture, uint64_t hidden) {
  layer.copy("mlp.gate.weight", "ffn_gate_inp.weight", {mixture.experts.count, hidden});
  experts(layer, "mlp.experts.", mixture.experts, hidden);
  feed_forward(layer, "mlp.shared_expert.", "_shexp", hidden, mixture.shared);
  layer.copy("mlp.shared_expert_gate.weight", "ffn_gate_inp_shexp.weight", {1, hidden});
}

std::string find_draft_root(TensorPlan& plan) {
  for (const char* root : {"mtp.", "model.mtp."}) {
    const auto& all = plan.checkpoint().tensors();
    const auto at = all.lower_bound(root);
    if (at == all.end() || !at->first.starts_with(root)) continue;
    if (const auto second = all.lower_bound(std::string(root) + "layers.1.");
        second != all.end() && second->first.starts_with(std::string(root) + "layers.1."))
      plan.refuse("the draft head has more than one layer, which Terrace does not run");
    return root;
  }
  return "";
}

}  // namespace terrace::tools
