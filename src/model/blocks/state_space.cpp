#include "model/blocks/state_space.h"

namespace terrace::model {

using compute::Rows;

Result<StateSpaceShape> load_state_space_shape(const Loader& loader) {
  StateSpaceShape shape;
  TERRACE_TRY(shape.hidden, loader.count("embedding_length", size_t{1} << 20));
  TERRACE_TRY(shape.heads, loader.count("ssm.time_step_rank", 4096));
  TERRACE_TRY(shape.groups, loader.count_or("ssm.group_count", 1, 4096));
  TERRACE_TRY(shape.states, loader.count("ssm.state_size", 1024));
  TERRACE_TRY(shape.kernel, loader.count("ssm.conv_kernel", 64));
  TERRACE_TRY(const size_t inner, loader.count("ssm.inner_size", 65536));
  TERRACE_TRY(shape.epsilon, loader.epsilon());
  shape.size = inner / shape.heads;
  if (inner % shape.heads != 0 || shape.size % 16 != 0)
    return fail("'ssm.inner_size' is {}, it must be {} heads of a multiple of 16", inner, shape.heads);
  if (shape.heads % shape.groups != 0)
    return fail("{} state space heads cannot be {} equal groups", shape.heads, shape.groups);
  return shape;
}

Result<BlockPtr> StateSpaceBlock::load(Loader& loader, const StateSpaceShape& shape, size_t layer) {
  auto block = std::make_unique<StateSpaceBlock>();
  block->shape_ = shape;
  const std::string prefix = fmt::format("blk.{}.", layer), ssm = prefix + "ssm_";
  const size_t inner = shape.inner(), channels = shape.channels();
  TERRACE_TRY(block->norm_, loader.vector(prefix + "attn_norm.weight", shape.hidden));
  TERRACE_TRY(block->in_, loader.matrix(ssm + "in.weight", inner + channels + shape.heads, shape.hidden));
  TERRACE_TRY(block->taps_, loader.taps(ssm + "conv1d.weight", channels, shape.kernel));
  TERRACE_TRY(block->convolution_bias_, loader.vector_or_none(ssm + "conv1d.bias", channels));
  TERRACE_TRY(block->decay_, loader.vector(ssm + "a", shape.heads));
  TERRACE_TRY(block->skip_, loader.vector(ssm + "d", shape.heads));
  TERRACE_TRY(block->time_bias_, loader.vector(ssm + "dt.bias", shape.heads));
  TERRACE_TRY(block->out_norm_, loader.vector(ssm + "norm.weight", inner));
  TERRACE_TRY(block->out_, loader.matrix(ssm + "out.weight", shape.hidden, inner));
  block->tail_offset_ = loader.reserve_tail(channels, shape.kernel);
  block->state_offset_ = loader.reserve_state(shape.states * inner * sizeof(float));
  return BlockPtr(std::move(block));
}

size_t StateSpaceBlock::workspace() const {
  const auto padded = Workspace::padded;
  return padded(in_->rows()) + padded(shape_.channels()) + padded(shape_.inner());
}

void StateSpaceBlock::forward(const StepContext& context, Rows x, Rows out) const {
  const size_t inner = shape_.inner(), channels = shape_.channels();
  const Rows parts = context.work.rows(x.count, in_->rows());  // z; x, B, C; time
  const auto part = [&](size_t first, size_t width) { return Rows{parts.data + first, x.count, width, parts.stride}; };
  const compute::Linear projection[] = {{in_.get(), nullptr, parts}};
  context.backend.linear(x, compute::Norm{norm_.data(), shape_.epsilon}, projection);

  compute::Convolution convolution;
  convolution.x = part(inner, channels);
  convolution.out = context.work.rows(x.count, channels);
  convolution.taps = taps_.data();
  convolution.bias = data_or_null(convolution_bias_);
  convolution.kernel = shape_.kernel;
  convolution.activation = compute::Activation::silu;
  convolution.state_offset = tail_offset_;
  context.backend.convolution(convolution, context.spans);

  compute::StateSpace space;
  space.convolved = convolution.out;
  space.z = part(0, inner);
  space.time = part(inner + channels, shape_.heads);
  space.out = context.work.rows(x.count, inner);
  space.heads = shape_.heads;
  space.size = shape_.size;
  space.groups = shape_.groups;
  space.states = shape_.states;
  space.decay = decay_.data();
  space.skip = skip_.data();
  space.time_bias = time_bias_.data();
  space.norm = {out_norm_.data(), shape_.epsilon, shape_.groups};
  space.state_offset = state_offset_;
  context.backend.state_space(space, context.spans);

  const compute::Linear output[] = {{out_.get(), nullptr, out, shape_.residual.accumulate, shape_.residual.scale}};
  context.backend.linear(space.out, std::nullopt, output);
}

}  // namespace terrace::model
