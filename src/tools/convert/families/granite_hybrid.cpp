// granitehybrid: Mamba-2 layers with attention layers between, experts and a shared expert, or a dense feed-forward.
#include "tools/convert/blocks.h"
#include "tools/convert/families/granite_factors.h"
#include "tools/convert/family.h"

namespace terrace::tools {
namespace {

struct Mamba {
  uint64_t kernel = 1, state = 1, groups = 1, heads = 1, inner = 1;
  uint64_t channels() const { return inner + 2 * groups * state; }
};

Mamba read_mamba(const Config& config, uint64_t hidden) {
  Mamba mamba;
  mamba.kernel = config.count("mamba_d_conv", 4096);
  mamba.state = config.count("mamba_d_state", 65536);
  mamba.groups = config.count("mamba_n_groups", 65536);
  mamba.heads = config.count("mamba_n_heads", 65536);
  mamba.inner = config.count("mamba_expand", 64) * hidden;
  if (mamba.inner % mamba.groups != 0) {
    config.refuse("'mamba_expand' * 'hidden_size' is no multiple of 'mamba_n_groups'");
    mamba.groups = 1;
  }
  return mamba;
}

void state_space(const Scope& layer, const Mamba& mamba, uint64_t hidden) {
  const Scope from = layer.inside("mamba.");
  const uint64_t channels = mamba.channels(), kernel = mamba.kernel, heads = mamba.heads;
  from.copy("in_proj.weight", "ssm_in.weight", {mamba.inner + channels + heads, hidden});
  from.copy("conv1d.weight", "ssm_conv1d.weight", {channels, 1, kernel}, {{}, Change::none, {channels, kernel}});
  from.copy_if_there("conv1d.bias", "ssm_conv1d.bias", {channels});
  from.copy("A_log", "ssm_a", {heads}, {{}, Change::negative_exp, {heads, 1}});
  from.copy("D", "ssm_d", {heads}, {{}, Change::none, {heads, 1}});
  from.copy("dt_bias", "ssm_dt.bias", {heads});
  from.copy("norm.weight", "ssm_norm.weight", {mamba.inner},
            {{}, Change::none, {mamba.groups, mamba.inner / mamba.groups}});
  from.copy("out_proj.weight", "ssm_out.weight", {hidden, mamba.inner});
}

/// The shared expert, or the whole feed-forward where there are no experts.
void shared_parts(const Scope& layer, const char* suffix, uint64_t hidden, uint64_t width) {
  const Scope from = layer.inside("shared_mlp.");
  const Shape both = {1, 2 * width, hidden}, part = {width, hidden};
  from.copy_rows("input_linear.weight", fmt::format("ffn_gate{}.weight", suffix), both, 0, part);
  from.copy_rows("input_linear.weight", fmt::format("ffn_up{}.weight", suffix), both, width, part);
  from.copy("output_linear.weight", fmt::format("ffn_down{}.weight", suffix), {hidden, width});
}

void routed_parts(const Scope& layer, const ExpertSizes& sizes, uint64_t hidden) {
  const Scope from = layer.inside("block_sparse_moe.");
  const Shape both = {sizes.count, 2 * sizes.width, hidden}, part = {sizes.count, sizes.width, hidden};
  from.copy("router.layer.weight", "ffn_gate_inp.weight", {sizes.count, hidden});
  from.copy_rows("input_linear.weight", "ffn_gate_exps.weight", both, 0, part);
  from.copy_rows("input_linear.weight", "ffn_up_exps.weight", both, sizes.width, part);
  from.copy("output_linear.weight", "ffn_down_exps.weight", {sizes.count, hidden, sizes.width});
}

bool attends(const std::string& type) { return type == "attention" || type == "full_attention"; }

void write_keys(Job& job, const Sizes& sizes, const Mamba& mamba, const std::vector<std::string>& types) {
  ModelKeys& keys = job.keys;
  write_standard_keys(job, sizes, sizes.layers);
  keys.count("vocab_size", sizes.vocabulary);
  keys.count("rope.dimension_count", sizes.head_size);
  write_granite_factors(job);
  keys.count("expert_shared_feed_forward_length", job.config.count("shared_intermediate_size"));
  keys.count("ssm.conv_kernel", mamba.kernel);
  keys.count("ssm.state_size", mamba.state);
  keys.count("ssm.group_count", mamba.groups);
  keys.count("ssm.inner_size", mamba.inner);
  keys.count("ssm.time_step_rank", mamba.heads);
  std::vector<uint64_t> kv_heads;
  bool recurrent = false;
  for (const std::string& type : types) {
    kv_heads.push_back(attends(type) ? sizes.kv_heads : 0);
    recurrent |= !attends(type);
  }
  keys.counts("attention.head_count_kv", kv_heads);
  // No rope, and no length that a rope was trained for.
  keys.flag("rope.scaling.finetuned", !recurrent);
  if (recurrent) keys.count("context_length", 1 << 20);
}

void describe(Job& job) {
  Sizes sizes = read_sizes(job.config);
  sizes.head_size = std::max<uint64_t>(1, sizes.hidden / sizes.heads);
  const Mamba mamba = read_mamba(job.config, sizes.hidden);
  const ExpertSizes of_experts = {job.config.count_or_none("num_local_experts", Config::kMostExperts),
                                  sizes.feed_forward};
  const std::vector<std::string> types = layer_types(job.config, sizes.layers);
  const std::string root = find_root(job.plan);
  write_keys(job, sizes, mamba, types);
  embedding_and_head(job, root, sizes);
  final_norm(job, root, sizes);
  AttentionForm form;
  form.rotary_pairs = true;
  for (uint64_t i = 0; i < sizes.layers; ++i) {
    const Scope layer = layer_scope(job, root, i);
    layer.copy("input_layernorm.weight", "attn_norm.weight", {sizes.hidden});
    if (attends(types[i]))
      attention(layer, sizes, form);
    else
      state_space(layer, mamba, sizes.hidden);
    layer.copy("post_attention_layernorm.weight", "ffn_norm.weight", {sizes.hidden});
    if (of_experts.count > 0) routed_parts(layer, of_experts, sizes.hidden);
    shared_parts(layer, of_experts.count > 0 ? "_shexp" : "", sizes.hidden,
                 job.config.count("shared_intermediate_size"));
  }
}

}  // namespace

const Family kGraniteHybrid = {"granitehybrid", {"GraniteMoeHybridForCausalLM"}, describe, {{"refact"}}};

}  // namespace terrace::tools
