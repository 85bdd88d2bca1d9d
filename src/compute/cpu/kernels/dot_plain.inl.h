// Panels of float types: [input][16 rows].
#pragma once

#include "compute/cpu/kernels/multiply.inl.h"

namespace {

template <class Element>
void dot_floats_plain(const std::byte* panel, size_t inputs, const float* x, size_t x_stride, size_t columns,
                      float* out) {
  const auto* weights = reinterpret_cast<const Element*>(panel);
  for (size_t done = 0; done < columns;) {
    const float* rows[6];
    float* outs[6];
    const size_t count = columns - done < 6 ? columns - done : 6;
    for (size_t c = 0; c < count; ++c) {
      rows[c] = x + (done + c) * x_stride;
      outs[c] = out + 16 * (done + c);
    }
    switch (count) {
      case 1:
        multiply<1, kLaneGroups>(rows, inputs, weights, 16, outs);
        break;
      case 2:
        multiply<2, kLaneGroups>(rows, inputs, weights, 16, outs);
        break;
      case 3:
        multiply<3, kLaneGroups>(rows, inputs, weights, 16, outs);
        break;
      case 4:
        multiply<4, kLaneGroups>(rows, inputs, weights, 16, outs);
        break;
      case 5:
        multiply<5, kLaneGroups>(rows, inputs, weights, 16, outs);
        break;
      default:
        multiply<6, kLaneGroups>(rows, inputs, weights, 16, outs);
        break;
    }
    done += count;
  }
}

template <class Element>
void decode_lane_plain(const std::byte* panel, size_t inputs, size_t lane, float* out) {
  const auto* weights = reinterpret_cast<const Element*>(panel);
  for (size_t i = 0; i < inputs; ++i) {
    float values[Simd::lanes];
    Simd::store(values, load_weights(weights + 16 * i + lane / Simd::lanes * Simd::lanes));
    out[i] = values[lane % Simd::lanes];
  }
}

template <class Element>
constexpr terrace::compute::BlockKernels float_kernels(uint32_t type) {
  return {type, nullptr, dot_floats_plain<Element>, decode_lane_plain<Element>};
}

}  // namespace
