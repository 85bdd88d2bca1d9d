// The functions and limits that operations and kernels name. No library headers here: kernel units include this.
#pragma once

namespace terrace::compute {

constexpr unsigned kMaximumHeadSize = 512;  ///< values of a head that kernels can hold

enum class Activation { none, silu, sigmoid };

/// f(gate) * up. clamped_swiglu is gpt-oss's: g * sigmoid(1.702 g) * (u + 1) with g = min(gate, 7), u = up within
/// [-7, 7].
enum class GateFunction { silu, gelu_tanh, clamped_swiglu };

}  // namespace terrace::compute
