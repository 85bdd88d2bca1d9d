// Kernels whose rows depend on the rows before them: causal convolutions, the gated delta rule and state spaces. They
// go through a span's rows in position order, so that a prompt and a decode agree in every bit.
#pragma once

#include "compute/cpu/kernels/rows.inl.h"

namespace {

using terrace::compute::ConvolutionTask;
using terrace::compute::DeltaHead;
using terrace::compute::DeltaTask;
using terrace::compute::StateSpaceTask;

/// The channels of a convolution that one call computes, for row `row`.
inline void convolve_row(const ConvolutionTask& task, size_t row, float* out) {
  const size_t tail = (task.kernel - 1) * task.dilation;
  for_each_16(task.count, [&](size_t i, size_t valid) {
    Simd::F sum[kLaneGroups], tap[kLaneGroups], input[kLaneGroups];
    for (auto& s : sum) s = Simd::set1(0.0F);
    if (task.bias) load16(task.bias + i, valid, sum);
    for (size_t k = 0; k < task.kernel; ++k) {
      const size_t at = row + k * task.dilation;  // counted from the oldest row of the tail
      load16(at < tail ? task.tail + at * task.channels + i : task.x + (at - tail) * task.x_stride + i, valid, input);
      load16(task.taps + k * task.channels + i, valid, tap);
      for (size_t g = 0; g < kLaneGroups; ++g) sum[g] = Simd::fma(tap[g], input[g], sum[g]);
    }
    for (auto& s : sum) s = activated(task.activation, s);
    store16(out + i, valid, sum);
  });
}

/// The tail after the task's rows.
inline void update_tail(const ConvolutionTask& task) {
  const size_t tail = (task.kernel - 1) * task.dilation;
  for (size_t t = 0; t < tail; ++t) {
    const size_t at = t + task.rows;
    const float* from = at < tail ? task.tail + at * task.channels : task.x + (at - tail) * task.x_stride;
    float* to = task.tail + t * task.channels;
    for (size_t i = 0; i < task.count; ++i) to[i] = from[i];
  }
}

void convolve(const ConvolutionTask& task) {
  for (size_t r = 0; r < task.rows; ++r) convolve_row(task, r, task.out + r * task.out_stride);
  update_tail(task);
}

/// The convolution of one head's channels in a delta rule.
inline ConvolutionTask head_convolution(const DeltaTask& task, size_t channel) {
  return {task.projections + channel,
          task.projection_stride,
          nullptr,
          0,
          task.rows,
          task.taps + channel,
          nullptr,
          task.tail + channel,
          task.channels,
          task.size,
          task.kernel,
          1,
          Activation::silu};
}

/// x / sqrt(sum of squares + 1e-6) * scale, the epsilon being fixed in transformers' delta nets.
inline void unit_length(float* x, size_t size, float scale) {
  Simd::F sum[kLaneGroups];
  for (auto& s : sum) s = Simd::set1(0.0F);
  for (size_t i = 0; i < size; i += 16) {
    for (size_t g = 0; g < kLaneGroups; ++g) {
      const Simd::F v = Simd::load(x + i + g * Simd::lanes);
      sum[g] = Simd::fma(v, v, sum[g]);
    }
  }
  const Simd::F factor = Simd::set1(scale / __builtin_sqrtf(Simd::sum16(sum) + 1e-6F));
  for (size_t i = 0; i < size; i += Simd::lanes) Simd::store(x + i, Simd::mul(Simd::load(x + i), factor));
}

/// One step of the recurrence for `Vectors` registers of value dimensions:
///   delta = beta (v - decay S^T k),  S = decay S + k delta^T,  out = S^T q
/// with one accumulator per value dimension, over the key dimensions in order.
template <size_t Vectors>
[[gnu::always_inline]] inline void delta_columns(float* state, size_t size, const float* q, const float* k,
                                                 const float* v, float decay, float beta, float* out) {
  Simd::F sum[Vectors], delta[Vectors];
  for (auto& s : sum) s = Simd::set1(0.0F);
  for (size_t i = 0; i < size; ++i) {
    const Simd::F key = Simd::set1(k[i]);
#pragma GCC unroll 4
    for (size_t c = 0; c < Vectors; ++c)
      sum[c] = Simd::fma(Simd::load(state + i * size + c * Simd::lanes), key, sum[c]);
  }
  const Simd::F factor = Simd::set1(decay), step = Simd::set1(beta);
  for (size_t c = 0; c < Vectors; ++c) {
    delta[c] = Simd::mul(step, Simd::sub(Simd::load(v + c * Simd::lanes), Simd::mul(factor, sum[c])));
    sum[c] = Simd::set1(0.0F);
  }
  for (size_t i = 0; i < size; ++i) {
    const Simd::F key = Simd::set1(k[i]), query = Simd::set1(q[i]);
#pragma GCC unroll 4
    for (size_t c = 0; c < Vectors; ++c) {
      float* at = state + i * size + c * Simd::lanes;
      const Simd::F updated = Simd::fma(key, delta[c], Simd::mul(factor, Simd::load(at)));
      Simd::store(at, updated);
      sum[c] = Simd::fma(query, updated, sum[c]);
    }
  }
  for (size_t c = 0; c < Vectors; ++c) Simd::store(out + c * Simd::lanes, sum[c]);
}

inline void delta_step(float* state, size_t size, const float* q, const float* k, const float* v, float decay,
                       float beta, float* out) {
  constexpr size_t vectors = Simd::registers == 0 ? 1 : 4;
  size_t column = 0;
  for (; column + vectors * Simd::lanes <= size; column += vectors * Simd::lanes)
    delta_columns<vectors>(state + column, size, q, k, v + column, decay, beta, out + column);
  for (; column < size; column += Simd::lanes)
    delta_columns<1>(state + column, size, q, k, v + column, decay, beta, out + column);
}

inline void delta_head(const DeltaTask& task, const DeltaHead& head, size_t row, const float* q, const float* k) {
  alignas(64) float value[terrace::compute::kMaximumHeadSize];
  convolve_row(head_convolution(task, head.value), row, value);
  const float beta = Simd::first(sigmoid(Simd::set1(task.beta[row * task.beta_stride + head.index])));
  const float time = task.alpha[row * task.alpha_stride + head.index] + task.bias[head.index];
  const Simd::F rate = Simd::mul(Simd::set1(task.decay[head.index]), softplus(Simd::set1(time)));
  float* out = task.out + row * task.out_stride + head.index * task.size;
  delta_step(head.matrix, task.size, q, k, value, Simd::first(exponential(rate)), beta, out);
  rms_norm(out, task.gain, task.size, task.epsilon, out);
  const float* z = task.z + row * task.z_stride + head.index * task.size;
  for (size_t i = 0; i < task.size; i += Simd::lanes)
    Simd::store(out + i, Simd::mul(Simd::load(out + i), activated(task.gate, Simd::load(z + i))));
}

void delta_rule(const DeltaTask& task) {
  alignas(64) float q[terrace::compute::kMaximumHeadSize], k[terrace::compute::kMaximumHeadSize];
  const ConvolutionTask query = head_convolution(task, task.query), key = head_convolution(task, task.key);
  const float scale = 1.0F / __builtin_sqrtf(static_cast<float>(task.size));
  for (size_t r = 0; r < task.rows; ++r) {
    convolve_row(query, r, q);
    convolve_row(key, r, k);
    unit_length(q, task.size, scale);
    unit_length(k, task.size, 1.0F);
    for (size_t h = 0; h < task.head_count; ++h) delta_head(task, task.heads[h], r, q, k);
  }
  update_tail(query);
  update_tail(key);
  for (size_t h = 0; h < task.head_count; ++h) update_tail(head_convolution(task, task.heads[h].value));
}

/// One row of a state space for `Vectors` registers of the head's values, with one accumulator per value, over the
/// states in order.
template <size_t Vectors>
[[gnu::always_inline]] inline void state_space_columns(const StateSpaceTask& task, size_t row, size_t column,
                                                       float decay, float time) {
  const float *b = task.b + row * task.stride, *c = task.c + row * task.stride;
  const Simd::F factor = Simd::set1(decay);
  Simd::F x[Vectors], scaled[Vectors], sum[Vectors];
  for (size_t i = 0; i < Vectors; ++i) {
    x[i] = Simd::load(task.x + row * task.stride + column + i * Simd::lanes);
    scaled[i] = Simd::mul(x[i], Simd::set1(time));
    sum[i] = Simd::set1(0.0F);
  }
  for (size_t n = 0; n < task.states; ++n) {
    const Simd::F in = Simd::set1(b[n]), out = Simd::set1(c[n]);
    float* at = task.state + n * task.size + column;
#pragma GCC unroll 4
    for (size_t i = 0; i < Vectors; ++i) {
      const Simd::F old = Simd::load(at + i * Simd::lanes);
      const Simd::F updated = Simd::fma(in, scaled[i], Simd::mul(factor, old));
      Simd::store(at + i * Simd::lanes, updated);
      sum[i] = Simd::fma(out, updated, sum[i]);
    }
  }
  for (size_t i = 0; i < Vectors; ++i) {
    const size_t at = column + i * Simd::lanes;
    const Simd::F y = Simd::fma(Simd::set1(task.skip), x[i], sum[i]);
    const Simd::F z = Simd::load(task.z + row * task.z_stride + at);
    Simd::store(task.out + row * task.out_stride + at, Simd::mul(y, silu(z)));
  }
}

void state_space(const StateSpaceTask& task) {
  constexpr size_t vectors = Simd::registers == 0 ? 1 : 4;
  for (size_t r = 0; r < task.rows; ++r) {
    const float raw = task.time[r * task.time_stride] + task.time_bias;
    const float time = Simd::first(softplus(Simd::set1(raw)));
    const float decay = Simd::first(exponential(Simd::set1(task.decay * time)));
    size_t column = 0;
    for (; column + vectors * Simd::lanes <= task.size; column += vectors * Simd::lanes)
      state_space_columns<vectors>(task, r, column, decay, time);
    for (; column < task.size; column += Simd::lanes) state_space_columns<1>(task, r, column, decay, time);
  }
}

}  // namespace
