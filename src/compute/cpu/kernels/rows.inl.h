// Kernels over one row: quantisation of activations, norms, gated activations, and the polynomials they need.
#pragma once

#include "compute/cpu/kernels/multiply.inl.h"

namespace {

using terrace::compute::Activation;
using terrace::compute::GateFunction;

/// e^x: 2^n times a degree-7 polynomial of the rest (|r| <= ln(2) / 2, truncation error 6e-9); exactly 0 below -87.
inline Simd::F exponential(Simd::F x) {
  const Simd::F low = Simd::set1(-87.0F);
  const Simd::F bounded = Simd::min(Simd::max(x, low), Simd::set1(88.0F));
  const Simd::F n = Simd::round(Simd::mul(bounded, Simd::set1(1.44269504F)));
  Simd::F r = Simd::fma(n, Simd::set1(-0.693359375F), bounded);
  r = Simd::fma(n, Simd::set1(2.12194440e-4F), r);
  Simd::F p = Simd::set1(1.0F / 5040);
  p = Simd::fma(p, r, Simd::set1(1.0F / 720));
  p = Simd::fma(p, r, Simd::set1(1.0F / 120));
  p = Simd::fma(p, r, Simd::set1(1.0F / 24));
  p = Simd::fma(p, r, Simd::set1(1.0F / 6));
  p = Simd::fma(p, r, Simd::set1(0.5F));
  p = Simd::fma(p, r, Simd::set1(1.0F));
  p = Simd::fma(p, r, Simd::set1(1.0F));
  return Simd::select_less(x, low, Simd::set1(0.0F), Simd::scale_by_power(p, n));
}

/// x * sigmoid(x)
inline Simd::F silu(Simd::F x) {
  const Simd::F one = Simd::set1(1.0F);
  return Simd::div(x, Simd::add(one, exponential(Simd::sub(Simd::set1(0.0F), x))));
}

inline Simd::F sigmoid(Simd::F x) {
  const Simd::F one = Simd::set1(1.0F);
  return Simd::div(one, Simd::add(one, exponential(Simd::sub(Simd::set1(0.0F), x))));
}

inline Simd::F activated(Activation activation, Simd::F x) {
  if (activation == Activation::silu) return silu(x);
  if (activation == Activation::sigmoid) return sigmoid(x);
  return x;
}

/// ln(1 + e^x) = max(x, 0) + ln(1 + y), y = e^-|x|; ln(1 + y) = 2 atanh(y / (2 + y)), whose argument is at most 1/3
/// (truncation error 3e-10).
inline Simd::F softplus(Simd::F x) {
  const Simd::F zero = Simd::set1(0.0F);
  const Simd::F y = exponential(Simd::sub(zero, Simd::abs(x)));
  const Simd::F s = Simd::div(y, Simd::add(y, Simd::set1(2.0F))), square = Simd::mul(s, s);
  Simd::F p = Simd::set1(2.0F / 17);
  p = Simd::fma(p, square, Simd::set1(2.0F / 15));
  p = Simd::fma(p, square, Simd::set1(2.0F / 13));
  p = Simd::fma(p, square, Simd::set1(2.0F / 11));
  p = Simd::fma(p, square, Simd::set1(2.0F / 9));
  p = Simd::fma(p, square, Simd::set1(2.0F / 7));
  p = Simd::fma(p, square, Simd::set1(2.0F / 5));
  p = Simd::fma(p, square, Simd::set1(2.0F / 3));
  p = Simd::fma(p, square, Simd::set1(2.0F));
  return Simd::fma(p, s, Simd::max(x, zero));
}

/// x * (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2, which is x * sigmoid of twice that argument
inline Simd::F gelu_tanh(Simd::F x) {
  const Simd::F inner = Simd::fma(Simd::mul(Simd::mul(x, x), x), Simd::set1(0.044715F), x);
  const Simd::F one = Simd::set1(1.0F);
  return Simd::div(x, Simd::add(one, exponential(Simd::mul(inner, Simd::set1(-1.59576912F)))));
}

/// Calls use(i, valid) for each 16 values of a row; the last call may have fewer valid ones.
template <class Use>
void for_each_16(size_t size, Use use) {
  size_t i = 0;
  for (; i + 16 <= size; i += 16) use(i, 16);
  if (i < size) use(i, size - i);
}

/// 16 values of a row, zeros past its end.
inline void load16(const float* x, size_t valid, Simd::F (&out)[kLaneGroups]) {
  float padded[16] = {};
  if (valid < 16) {
    for (size_t i = 0; i < valid; ++i) padded[i] = x[i];
    x = padded;
  }
  for (size_t g = 0; g < kLaneGroups; ++g) out[g] = Simd::load(x + g * Simd::lanes);
}

inline void store16(float* out, size_t valid, const Simd::F (&x)[kLaneGroups]) {
  float padded[16];
  float* to = valid < 16 ? padded : out;
  for (size_t g = 0; g < kLaneGroups; ++g) Simd::store(to + g * Simd::lanes, x[g]);
  if (valid < 16) {
    for (size_t i = 0; i < valid; ++i) out[i] = padded[i];
  }
}

void quantize(const float* x, size_t blocks, ActivationBlock* out) {
  for (size_t b = 0; b < blocks; ++b, x += 32, ++out) {
    Simd::F values[2 * kLaneGroups], largest[kLaneGroups];
    for (size_t i = 0; i < 2 * kLaneGroups; ++i) values[i] = Simd::load(x + i * Simd::lanes);
    for (size_t i = 0; i < kLaneGroups; ++i)
      largest[i] = Simd::max(Simd::abs(values[i]), Simd::abs(values[i + kLaneGroups]));
    const float maximum = Simd::max16(largest);
    // Smaller magnitudes count as zero, since 127 / maximum would overflow.
    const Simd::F inverse = Simd::set1(maximum > 1e-36F ? 127.0F / maximum : 0.0F);
    const Simd::F top = Simd::set1(127.0F), bottom = Simd::set1(-127.0F);
    Simd::I codes[2 * kLaneGroups];
    for (size_t i = 0; i < 2 * kLaneGroups; ++i) {
      // The bounds only matter for infinities and NaN, whose conversion would depend on the instruction set.
      codes[i] = Simd::to_int(Simd::max(Simd::min(Simd::mul(values[i], inverse), top), bottom));
      Simd::store_int8(out->codes + i * Simd::lanes, codes[i]);
    }
    const int32_t first = Simd::isum16(codes), second = Simd::isum16(codes + kLaneGroups), sum = first + second;
    out->scale = maximum / 127.0F;
    out->scaled_sum = out->scale * static_cast<float>(sum);
    out->minus_8_sums = -8 * sum;
    out->minus_16_sums = -16 * sum;
    out->minus_128_sums = -128 * sum;
    out->minus_32_sums[0] = -32 * first;
    out->minus_32_sums[1] = -32 * second;
    out->scaled_first_sum = out->scale * static_cast<float>(first);
  }
}

/// Squares are summed in 16 lanes (input i in lane i mod 16), which are then folded.
void rms_norm(const float* x, const float* gain, size_t size, float epsilon, float* out) {
  Simd::F sum[kLaneGroups];
  for (auto& s : sum) s = Simd::set1(0.0F);
  for_each_16(size, [&](size_t i, size_t valid) {
    Simd::F v[kLaneGroups];
    load16(x + i, valid, v);
    for (size_t g = 0; g < kLaneGroups; ++g) sum[g] = Simd::fma(v[g], v[g], sum[g]);
  });
  const float mean = Simd::sum16(sum) / static_cast<float>(size) + epsilon;
  const Simd::F factor = Simd::set1(1.0F / __builtin_sqrtf(mean));
  for_each_16(size, [&](size_t i, size_t valid) {
    Simd::F v[kLaneGroups], w[kLaneGroups];
    load16(x + i, valid, v);
    if (gain) load16(gain + i, valid, w);
    for (size_t g = 0; g < kLaneGroups; ++g)
      v[g] = gain ? Simd::mul(Simd::mul(v[g], factor), w[g]) : Simd::mul(v[g], factor);
    store16(out + i, valid, v);
  });
}

inline Simd::F gated(GateFunction function, Simd::F gate, Simd::F up) {
  if (function == GateFunction::silu) return Simd::mul(silu(gate), up);
  if (function == GateFunction::gelu_tanh) return Simd::mul(gelu_tanh(gate), up);
  const Simd::F limit = Simd::set1(7.0F), g = Simd::min(gate, limit);
  const Simd::F u = Simd::max(Simd::min(up, limit), Simd::set1(-7.0F));
  const Simd::F scaled = Simd::mul(g, sigmoid(Simd::mul(g, Simd::set1(1.702F))));
  return Simd::mul(scaled, Simd::add(u, Simd::set1(1.0F)));
}

void gate(GateFunction function, const float* gates, const float* up, size_t size, float* out) {
  for_each_16(size, [&](size_t i, size_t valid) {
    Simd::F a[kLaneGroups], b[kLaneGroups];
    load16(gates + i, valid, a);
    load16(up + i, valid, b);
    for (size_t g = 0; g < kLaneGroups; ++g) a[g] = gated(function, a[g], b[g]);
    store16(out + i, valid, a);
  });
}

void activate(Activation activation, float* x, size_t size) {
  for_each_16(size, [&](size_t i, size_t valid) {
    Simd::F v[kLaneGroups];
    load16(x + i, valid, v);
    for (auto& value : v) value = activated(activation, value);
    store16(x + i, valid, v);
  });
}

inline void gate_by_sigmoid(const float* gates, size_t size, float* out) {
  for_each_16(size, [&](size_t i, size_t valid) {
    Simd::F a[kLaneGroups], b[kLaneGroups];
    load16(gates + i, valid, a);
    load16(out + i, valid, b);
    for (size_t g = 0; g < kLaneGroups; ++g) b[g] = Simd::mul(b[g], sigmoid(a[g]));
    store16(out + i, valid, b);
  });
}

/// tanh(y) = 2 sigmoid(2 y) - 1, whose error of 1e-7 is below the rounding of values near the cap.
void soft_cap(float cap, float* x, size_t size) {
  const Simd::F factor = Simd::set1(2.0F / cap), twice = Simd::set1(2.0F * cap), minus = Simd::set1(-cap);
  for_each_16(size, [&](size_t i, size_t valid) {
    Simd::F v[kLaneGroups];
    load16(x + i, valid, v);
    for (auto& value : v) value = Simd::fma(twice, sigmoid(Simd::mul(value, factor)), minus);
    store16(x + i, valid, v);
  });
}

void add_scaled(const float* x, float scale, size_t size, float* out) {
  for_each_16(size, [&](size_t i, size_t valid) {
    Simd::F a[kLaneGroups], b[kLaneGroups];
    load16(x + i, valid, a);
    load16(out + i, valid, b);
    for (size_t g = 0; g < kLaneGroups; ++g) b[g] = Simd::fma(a[g], Simd::set1(scale), b[g]);
    store16(out + i, valid, b);
  });
}

void combine(const float* const* rows, const float* weights, size_t count, size_t size, float scale, bool accumulate,
             float* out) {
  for_each_16(size, [&](size_t i, size_t valid) {
    Simd::F sum[kLaneGroups], v[kLaneGroups];
    for (auto& s : sum) s = Simd::set1(0.0F);
    for (size_t r = 0; r < count; ++r) {
      load16(rows[r] + i, valid, v);
      for (size_t g = 0; g < kLaneGroups; ++g) sum[g] = Simd::fma(v[g], Simd::set1(weights[r]), sum[g]);
    }
    load16(out + i, valid, v);
    for (size_t g = 0; g < kLaneGroups; ++g) {
      const Simd::F scaled = Simd::mul(sum[g], Simd::set1(scale));
      sum[g] = accumulate ? Simd::add(v[g], scaled) : scaled;
    }
    store16(out + i, valid, sum);
  });
}

/// Values are summed in 16 lanes, which are then folded, as in rms_norm.
void softmax(float* x, size_t size) {
  float maximum = x[0];
  for (size_t i = 1; i < size; ++i) maximum = x[i] > maximum ? x[i] : maximum;
  Simd::F sum[kLaneGroups];
  for (auto& s : sum) s = Simd::set1(0.0F);
  for_each_16(size, [&](size_t i, size_t valid) {
    float padded[16];
    for (size_t j = 0; j < 16; ++j) padded[j] = j < valid ? x[i + j] : -__builtin_inff();
    Simd::F v[kLaneGroups];
    load16(padded, 16, v);
    for (size_t g = 0; g < kLaneGroups; ++g) {
      v[g] = exponential(Simd::sub(v[g], Simd::set1(maximum)));
      sum[g] = Simd::add(sum[g], v[g]);
    }
    store16(x + i, valid, v);
  });
  const float inverse = 1.0F / Simd::sum16(sum);
  for (size_t i = 0; i < size; ++i) x[i] *= inverse;
}

/// Values beyond the halves' range become the largest half, not infinity: attention gives hidden positions the weight
/// 0, and 0 times infinity would reach the queries that share their tile. NaN stays NaN.
void to_half(const float* x, size_t size, uint16_t* out) {
  const Simd::F top = Simd::set1(65504.0F), bottom = Simd::set1(-65504.0F);
  for_each_16(size, [&](size_t i, size_t valid) {
    Simd::F v[kLaneGroups];
    load16(x + i, valid, v);
    uint16_t halves16[16];
    for (size_t g = 0; g < kLaneGroups; ++g)
      Simd::store_half(halves16 + g * Simd::lanes, Simd::max(bottom, Simd::min(top, v[g])));
    for (size_t j = 0; j < valid; ++j) out[i + j] = halves16[j];
  });
}

}  // namespace
