#include "model/blocks/short_convolution.h"

namespace terrace::model {

using compute::Rows;

Result<BlockPtr> ShortConvolutionBlock::load(Loader& loader, const ShortConvolutionShape& shape, size_t layer) {
  auto block = std::make_unique<ShortConvolutionBlock>();
  block->shape_ = shape;
  const std::string prefix = fmt::format("blk.{}.", layer);
  TERRACE_TRY(block->norm_, loader.vector(prefix + "attn_norm.weight", shape.hidden));
  TERRACE_TRY(block->in_, loader.matrix(prefix + "shortconv.in_proj.weight", 3 * shape.hidden, shape.hidden));
  TERRACE_TRY(block->taps_, loader.taps(prefix + "shortconv.conv.weight", shape.hidden, shape.kernel));
  TERRACE_TRY(block->out_, loader.matrix(prefix + "shortconv.out_proj.weight", shape.hidden, shape.hidden));
  block->state_offset_ = loader.reserve_tail(shape.hidden, shape.kernel);
  return BlockPtr(std::move(block));
}

void ShortConvolutionBlock::forward(const StepContext& context, Rows x, Rows out) const {
  const size_t hidden = shape_.hidden;
  const Rows parts = context.work.rows(x.count, 3 * hidden);
  const auto part = [&](size_t index) { return Rows{parts.data + index * hidden, x.count, hidden, parts.stride}; };
  const compute::Linear projection[] = {{in_.get(), nullptr, parts}};
  context.backend.linear(x, compute::Norm{norm_.data(), shape_.epsilon}, projection);
  compute::Convolution convolution;
  convolution.input_gate = part(0);
  convolution.output_gate = part(1);
  convolution.x = part(2);
  convolution.out = context.work.rows(x.count, hidden);
  convolution.taps = taps_.data();
  convolution.kernel = shape_.kernel;
  convolution.state_offset = state_offset_;
  context.backend.convolution(convolution, context.spans);
  const compute::Linear output[] = {{out_.get(), nullptr, out, /*accumulate=*/true}};
  context.backend.linear(convolution.out, std::nullopt, output);
}

}  // namespace terrace::model
