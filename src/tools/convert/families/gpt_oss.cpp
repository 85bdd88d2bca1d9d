// gpt-oss: experts in MXFP4, sinks, biases everywhere.
#include "tools/convert/blocks.h"
#include "tools/convert/family.h"

namespace terrace::tools {
namespace {

constexpr uint64_t kBlock = 32;  // values of an MXFP4 block

struct Sides {
  uint64_t experts, inputs, outputs;
};

/// One expert after the other: the rows `first`, `first + step`, ... of the checkpoint's.
void mxfp4_experts(const Scope& from, const std::string& name, const std::string& to, const Sides& sides,
                   uint64_t first, uint64_t step) {
  const auto [count, inputs, outputs] = sides;
  const uint64_t blocks = inputs / kBlock, rows = outputs * step;
  TensorPlan& plan = from.plan;
  const CheckpointTensor* codes = plan.take_any(from.from(name + "_blocks"), {count, rows, blocks, kBlock / 2});
  const CheckpointTensor* scales = plan.take_any(from.from(name + "_scales"), {count, rows, blocks});
  if (!codes || !scales) return;
  if (codes->dtype != "U8" || scales->dtype != "U8")
    return plan.refuse(fmt::format("the tensors '{}' and '{}' are not of bytes", codes->name, scales->name));
  PlannedTensor tensor{from.to(to), {count, outputs, inputs}, {}};
  for (uint64_t expert = 0; expert < count; ++expert) {
    const Order order = step == 1 ? Order{} : every(step, first, blocks, outputs);
    tensor.pieces.push_back({codes, expert * rows * blocks, rows * blocks, order, Change::none, scales, {}});
  }
  plan.add(std::move(tensor));
}

/// Experts that were never in MXFP4 lie with their inputs as rows.
void plain_experts(const Scope& from, const std::string& name, const std::string& to, const Sides& sides,
                   uint64_t first, uint64_t step) {
  const auto [count, inputs, outputs] = sides;
  const uint64_t columns = outputs * step;
  const CheckpointTensor* source = from.plan.take(from.from(name), {count, inputs, columns});
  if (!source) return;
  PlannedTensor tensor{from.to(to), {count, outputs, inputs}, {}};
  for (uint64_t expert = 0; expert < count; ++expert) {
    tensor.pieces.push_back({source,
                             expert * inputs * columns,
                             inputs * columns,
                             transposed(inputs, columns, first, step),
                             Change::none,
                             nullptr,
                             {}});
  }
  from.plan.add(std::move(tensor));
}

/// Gate and up rows take turns.
void mixture(const Scope& layer, const ExpertSizes& sizes, uint64_t hidden) {
  layer.copy("mlp.router.weight", "ffn_gate_inp.weight", {sizes.count, hidden});
  layer.copy("mlp.router.bias", "ffn_gate_inp.bias", {sizes.count});
  const Scope from = layer.inside("mlp.experts.");
  const auto add = from.has("gate_up_proj_blocks") ? mxfp4_experts : plain_experts;
  const Sides in = {sizes.count, hidden, sizes.width}, out = {sizes.count, sizes.width, hidden};
  add(from, "gate_up_proj", "ffn_gate_exps.weight", in, 0, 2);
  add(from, "gate_up_proj", "ffn_up_exps.weight", in, 1, 2);
  add(from, "down_proj", "ffn_down_exps.weight", out, 0, 1);
  const Shape both = {sizes.count, 2 * sizes.width}, half = {sizes.count, sizes.width};
  from.copy("gate_up_proj_bias", "ffn_gate_exps.bias", both,
            {every(2, 0, 1, sizes.count * sizes.width), Change::none, half});
  from.copy("gate_up_proj_bias", "ffn_up_exps.bias", both,
            {every(2, 1, 1, sizes.count * sizes.width), Change::none, half});
  from.copy("down_proj_bias", "ffn_down_exps.bias", {sizes.count, hidden});
}

void describe(Job& job) {
  const Sizes sizes = read_sizes(job.config);
  const ExpertSizes of_experts = {
      job.config.count(job.config.first_of({"num_local_experts", "num_experts"}), Config::kMostExperts),
      sizes.feed_forward};
  const std::string root = find_root(job.plan);
  write_standard_keys(job, sizes, sizes.layers);
  job.keys.count("attention.sliding_window", job.config.count("sliding_window"));
  job.keys.count("expert_feed_forward_length", of_experts.width);
  embedding_and_head(job, root, sizes);
  final_norm(job, root, sizes);
  for (uint64_t i = 0; i < sizes.layers; ++i) {
    const Scope layer = layer_scope(job, root, i);
    layer.copy("input_layernorm.weight", "attn_norm.weight", {sizes.hidden});
    attention(layer, sizes);
    layer.copy("self_attn.sinks", "attn_sinks.weight", {sizes.heads});
    layer.copy("post_attention_layernorm.weight", "post_attention_norm.weight", {sizes.hidden});
    mixture(layer, of_experts, sizes.hidden);
  }
}

}  // namespace

const Family kGptOss = {"gpt-oss", {"GptOssForCausalLM"}, describe, {}};

}  // namespace terrace::tools
