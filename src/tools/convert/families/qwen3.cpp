// qwen2, qwen3 and qwen3moe.
#include "tools/convert/blocks.h"
#include "tools/convert/family.h"

namespace terrace::tools {
namespace {

void norms_and_attention(const Scope& layer, const Sizes& sizes) {
  layer.copy("input_layernorm.weight", "attn_norm.weight", {sizes.hidden});
  attention(layer, sizes);
  layer.copy("post_attention_layernorm.weight", "ffn_norm.weight", {sizes.hidden});
}

void describe_dense(Job& job) {
  const Sizes sizes = read_sizes(job.config);
  const std::string root = find_root(job.plan);
  write_standard_keys(job, sizes, sizes.layers);
  embedding_and_head(job, root, sizes);
  final_norm(job, root, sizes);
  for (uint64_t i = 0; i < sizes.layers; ++i) {
    const Scope layer = layer_scope(job, root, i);
    norms_and_attention(layer, sizes);
    feed_forward(layer, "mlp.", "", sizes.hidden, sizes.feed_forward);
  }
}

void describe_experts(Job& job) {
  const Sizes sizes = read_sizes(job.config);
  const ExpertSizes of_experts = {
      job.config.count(job.config.first_of({"num_experts", "num_local_experts"}), Config::kMostExperts),
      job.config.count("moe_intermediate_size")};
  const std::string root = find_root(job.plan);
  write_standard_keys(job, sizes, sizes.layers);
  job.keys.count("expert_feed_forward_length", of_experts.width);
  embedding_and_head(job, root, sizes);
  final_norm(job, root, sizes);
  for (uint64_t i = 0; i < sizes.layers; ++i) {
    const Scope layer = layer_scope(job, root, i);
    norms_and_attention(layer, sizes);
    layer.copy("mlp.gate.weight", "ffn_gate_inp.weight", {of_experts.count, sizes.hidden});
    experts(layer, "mlp.experts.", of_experts, sizes.hidden);
  }
}

}  // namespace

const Family kQwen2 = {"qwen2", {"Qwen2ForCausalLM"}, describe_dense, {}};
const Family kQwen3 = {"qwen3", {"Qwen3ForCausalLM"}, describe_dense, {}};
const Family kQwen3Moe = {"qwen3moe", {"Qwen3MoeForCausalLM"}, describe_experts, {}};

}  // namespace terrace::tools
