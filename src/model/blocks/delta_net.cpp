#include "model/blocks/delta_net.h"

namespace terrace::model {

using compute::Rows;

Result<DeltaNetShape> load_delta_net_shape(const Loader& loader) {
  DeltaNetShape shape;
  TERRACE_TRY(shape.hidden, loader.count("embedding_length", size_t{1} << 20));
  TERRACE_TRY(shape.size, loader.count("ssm.state_size", compute::kMaximumHeadSize));
  TERRACE_TRY(shape.key_heads, loader.count("ssm.group_count", 4096));
  TERRACE_TRY(shape.value_heads, loader.count("ssm.time_step_rank", 4096));
  TERRACE_TRY(shape.kernel, loader.count("ssm.conv_kernel", 64));
  TERRACE_TRY(const size_t inner, loader.count("ssm.inner_size", size_t{1} << 24));
  TERRACE_TRY(shape.epsilon, loader.epsilon());
  if (shape.size % 16 != 0)
    return fail("delta net heads of {} values are not possible (multiples of 16 are)", shape.size);
  if (shape.value_heads % shape.key_heads != 0)
    return fail("{} value heads cannot share {} key heads evenly", shape.value_heads, shape.key_heads);
  if (inner != shape.value_heads * shape.size)
    return fail("'ssm.inner_size' is {}, expected {} heads of {}", inner, shape.value_heads, shape.size);
  return shape;
}

/// alpha and beta: a matrix each, or one whose rows are, per key head, its value heads' betas and then their alphas.
Status DeltaNetBlock::load_rates(Loader& loader, const std::string& prefix) {
  const size_t heads = shape_.value_heads;
  if (!loader.has(prefix + "ba.weight")) {
    TERRACE_TRY(beta_, loader.matrix(prefix + "beta.weight", heads, shape_.hidden));
    TERRACE_TRY(alpha_, loader.matrix(prefix + "alpha.weight", heads, shape_.hidden));
    return Done{};
  }
  const size_t share = heads / shape_.key_heads;
  std::vector<size_t> betas, alphas;
  for (size_t head = 0; head < heads; ++head) {
    betas.push_back(head / share * 2 * share + head % share);
    alphas.push_back(betas.back() + share);
  }
  TERRACE_TRY(beta_, loader.matrix_of_rows(prefix + "ba.weight", 2 * heads, shape_.hidden, betas));
  TERRACE_TRY(alpha_, loader.matrix_of_rows(prefix + "ba.weight", 2 * heads, shape_.hidden, alphas));
  return Done{};
}

Result<BlockPtr> DeltaNetBlock::load(Loader& loader, const DeltaNetShape& shape, size_t layer) {
  auto block = std::make_unique<DeltaNetBlock>();
  block->shape_ = shape;
  const std::string prefix = fmt::format("blk.{}.", layer), ssm = prefix + "ssm_";
  const size_t inner = shape.value_heads * shape.size, channels = 2 * shape.key_heads * shape.size + inner;
  if (shape.normed) {
    TERRACE_TRY(block->norm_, loader.vector(prefix + "attn_norm.weight", shape.hidden));
  }
  TERRACE_TRY(block->qkv_, loader.matrix(prefix + "attn_qkv.weight", channels, shape.hidden));
  TERRACE_TRY(block->z_, loader.matrix(prefix + "attn_gate.weight", inner, shape.hidden));
  TERRACE_CHECK(block->load_rates(loader, ssm));
  TERRACE_TRY(block->taps_, loader.taps(ssm + "conv1d.weight", channels, shape.kernel));
  TERRACE_TRY(block->decay_, loader.vector(ssm + "a", shape.value_heads));
  TERRACE_TRY(block->bias_, loader.vector(ssm + "dt.bias", shape.value_heads));
  TERRACE_TRY(block->out_norm_, loader.vector(ssm + "norm.weight", shape.size));
  TERRACE_TRY(block->out_, loader.matrix(ssm + "out.weight", shape.hidden, inner));
  block->tail_offset_ = loader.reserve_tail(channels, shape.kernel);
  block->matrix_offset_ = loader.reserve_state(inner * shape.size * sizeof(float));
  return BlockPtr(std::move(block));
}

size_t DeltaNetBlock::workspace() const {
  const auto padded = Workspace::padded;
  return padded(qkv_->rows()) + 2 * padded(z_->rows()) + 2 * padded(beta_->rows());
}

void DeltaNetBlock::forward(const StepContext& context, Rows x, Rows out) const {
  compute::DeltaRule rule;
  rule.qkv = context.work.rows(x.count, qkv_->rows());
  rule.z = context.work.rows(x.count, z_->rows());
  rule.beta = context.work.rows(x.count, beta_->rows());
  rule.alpha = context.work.rows(x.count, alpha_->rows());
  rule.out = context.work.rows(x.count, z_->rows());
  rule.key_heads = shape_.key_heads;
  rule.value_heads = shape_.value_heads;
  rule.size = shape_.size;
  rule.adjacent = shape_.adjacent;
  rule.taps = taps_.data();
  rule.kernel = shape_.kernel;
  rule.decay = decay_.data();
  rule.bias = bias_.data();
  rule.norm = {out_norm_.data(), shape_.epsilon};
  rule.gate = shape_.gate;
  rule.tail_offset = tail_offset_;
  rule.matrix_offset = matrix_offset_;
  const compute::Linear projections[] = {{qkv_.get(), nullptr, rule.qkv},
                                         {z_.get(), nullptr, rule.z},
                                         {beta_.get(), nullptr, rule.beta},
                                         {alpha_.get(), nullptr, rule.alpha}};
  context.backend.linear(x, norm_or_none(norm_, shape_.epsilon), projections);
  context.backend.delta_rule(rule, context.spans);
  const compute::Linear output[] = {{out_.get(), nullptr, out, shape_.residual.accumulate, shape_.residual.scale}};
  context.backend.linear(rule.out, std::nullopt, output);
}

}  // namespace terrace::model
