// Operations whose rows depend on the rows before them. Channels and heads are shared out to the team; each goes
// through the rows of a span in order.
#include "compute/cpu/cpu_backend.h"

namespace terrace::compute {
namespace {

constexpr size_t kChannels = 256;  // per piece of work

template <class T>
T* state_at(const RowSpan& span, size_t offset) {
  return reinterpret_cast<T*>(span.state + offset);
}

}  // namespace

void CpuBackend::convolution(const Convolution& convolution, std::span<const RowSpan> spans) {
  const size_t channels = convolution.x.width, per_span = (channels + kChannels - 1) / kChannels;
  const auto do_piece = [&](const RowSpan& span, size_t channel) {
    const size_t count = std::min(kChannels, channels - channel);
    const auto multiply = [&](Rows by, Rows rows) {
      for (size_t r = span.first_row; by.data && r < span.first_row + span.rows; ++r) {
        for (size_t c = channel; c < channel + count; ++c) rows.row(r)[c] *= by.row(r)[c];
      }
    };
    multiply(convolution.input_gate, convolution.x);
    ConvolutionTask task{};
    task.x = convolution.x.row(span.first_row) + channel;
    task.x_stride = convolution.x.stride;
    task.out = convolution.out.row(span.first_row) + channel;
    task.out_stride = convolution.out.stride;
    task.rows = span.rows;
    task.taps = convolution.taps + channel;
    task.bias = convolution.bias ? convolution.bias + channel : nullptr;
    task.tail = state_at<float>(span, convolution.state_offset) + channel;
    task.channels = channels;
    task.count = count;
    task.kernel = convolution.kernel;
    task.dilation = convolution.dilation;
    task.activation = convolution.activation;
    kernels_->convolve(task);
    multiply(convolution.output_gate, convolution.out);
  };
  team_.for_each(spans.size() * per_span, 1, [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) do_piece(spans[i / per_span], i % per_span * kChannels);
  });
}

void CpuBackend::delta_rule(const DeltaRule& rule, std::span<const RowSpan> spans) {
  const size_t share = rule.value_heads / rule.key_heads;  // value heads per key head
  const auto do_head = [&](const RowSpan& span, size_t key_head) {
    std::vector<DeltaHead> heads(share);
    for (size_t i = 0; i < share; ++i) {
      const size_t index = rule.adjacent ? key_head * share + i : i * rule.key_heads + key_head;
      heads[i] = {(2 * rule.key_heads + index) * rule.size, index,
                  state_at<float>(span, rule.matrix_offset) + index * rule.size * rule.size};
    }
    DeltaTask task{};
    const size_t row = span.first_row;
    task.projections = rule.qkv.row(row);
    task.projection_stride = rule.qkv.stride;
    task.z = rule.z.row(row);
    task.z_stride = rule.z.stride;
    task.beta = rule.beta.row(row);
    task.beta_stride = rule.beta.stride;
    task.alpha = rule.alpha.row(row);
    task.alpha_stride = rule.alpha.stride;
    task.out = rule.out.row(row);
    task.out_stride = rule.out.stride;
    task.rows = span.rows;
    task.size = rule.size;
    task.query = key_head * rule.size;
    task.key = (rule.key_heads + key_head) * rule.size;
    task.heads = heads.data();
    task.head_count = share;
    task.taps = rule.taps;
    task.tail = state_at<float>(span, rule.tail_offset);
    task.kernel = rule.kernel;
    task.channels = rule.qkv.width;
    task.decay = rule.decay;
    task.bias = rule.bias;
    task.gain = rule.norm.gain;
    task.epsilon = rule.norm.epsilon;
    task.gate = rule.gate;
    kernels_->delta_rule(task);
  };
  team_.for_each(spans.size() * rule.key_heads, 1, [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) do_head(spans[i / rule.key_heads], i % rule.key_heads);
  });
}

void CpuBackend::state_space(const StateSpace& space, std::span<const RowSpan> spans) {
  const size_t inner = space.heads * space.size, share = space.heads / space.groups;  // heads per group
  const auto do_head = [&](const RowSpan& span, size_t head) {
    const float* convolved = space.convolved.row(span.first_row);
    StateSpaceTask task{};
    task.x = convolved + head * space.size;
    task.b = convolved + inner + head / share * space.states;
    task.c = task.b + space.groups * space.states;
    task.stride = space.convolved.stride;
    task.z = space.z.row(span.first_row) + head * space.size;
    task.z_stride = space.z.stride;
    task.time = space.time.row(span.first_row) + head;
    task.time_stride = space.time.stride;
    task.out = space.out.row(span.first_row) + head * space.size;
    task.out_stride = space.out.stride;
    task.rows = span.rows;
    task.size = space.size;
    task.states = space.states;
    task.state = state_at<float>(span, space.state_offset) + head * space.states * space.size;
    task.decay = space.decay[head];
    task.skip = space.skip[head];
    task.time_bias = space.time_bias[head];
    kernels_->state_space(task);
  };
  team_.for_each(spans.size() * space.heads, 1, [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) do_head(spans[i / space.heads], i % space.heads);
  });
  team_.for_each(space.out.count, 4, [&](size_t first, size_t last) {
    for (size_t r = first; r < last; ++r) normalize_row(space.out.row(r), inner, space.norm, space.out.row(r));
  });
}

}  // namespace terrace::compute
