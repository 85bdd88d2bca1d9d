// The table of kernels that one instruction set provides. Kernels are plain functions over pointers: they know nothing
// of models, threads or memory. All tables give the same bits (docs/kernels.md): every float operation is one IEEE
// operation, rounded to nearest even, in an order that depends on the operands' shapes alone.
//
// Kernel units include no library templates and define everything in unnamed namespaces, so that the linker can never
// replace a function of the portable part by a copy compiled for a wider instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/functions.h"

namespace terrace::compute {

/// 32 activations of a row as 8-bit codes: value = scale * code, scale = (largest magnitude) / 127, code rounded to
/// nearest even. The sums save each kernel from computing them: a format whose codes have the zero point z starts its
/// integer sum at -z * sum.
struct alignas(64) ActivationBlock {
  float scale;
  float scaled_sum;          ///< scale * (sum of the codes), for formats with minima
  int32_t minus_8_sums;      ///< -8 * sum
  int32_t minus_16_sums;     ///< -16 * sum
  int32_t minus_128_sums;    ///< -128 * sum
  int32_t minus_32_sums[2];  ///< -32 * (sum of each half)
  float scaled_first_sum;    ///< scale * (sum of the first half's codes), for formats with minima per half
  int8_t codes[32];
};
static_assert(sizeof(ActivationBlock) == 64);

constexpr size_t kBlock = 32;           ///< inputs per activation block
constexpr size_t kPanel = 16;           ///< outputs per panel
constexpr size_t kAttentionBlock = 64;  ///< positions per attention block and per KV page

/// The products of one panel with `columns` rows of activation codes: out[c * kPanel + i], c < columns. `blocks` per
/// row; row c begins at x + c * x_stride.
using DotCodes = void (*)(const std::byte* panel, size_t blocks, const ActivationBlock* x, size_t x_stride,
                          size_t columns, float* out);
/// The same with float activations, one fma per input in input order.
using DotFloats = void (*)(const std::byte* panel, size_t inputs, const float* x, size_t x_stride, size_t columns,
                           float* out);
/// The `inputs` weights of row `lane` of a panel.
using DecodeLane = void (*)(const std::byte* panel, size_t inputs, size_t lane, float* out);

struct BlockKernels {
  uint32_t type;       ///< ggml type code
  DotCodes dot_codes;  ///< null for float types, which always take float activations
  DotFloats dot_floats;
  DecodeLane decode_lane;
};

/// The block types that one translation unit compiles.
struct BlockKernelGroup {
  size_t count;
  const BlockKernels* types;
};

constexpr size_t kQueryTask = 24;    ///< queries of one attention task
constexpr size_t kPartialHead = 16;  ///< floats before the values of a partial: its maximum, its sum, whether it is one

/// Queries that share a key/value head. A page holds per head its keys [size][64 positions] and values [64
/// positions][padded size].
struct AttentionTask {
  const float* const* queries;    ///< `count` rows of `key_size`
  float* const* outputs;          ///< `count` rows of `value_size`
  const int32_t* last;            ///< per query the last visible position
  const int32_t* first;           ///< per query the first visible position
  size_t count;                   ///< at most kQueryTask
  const std::byte* const* pages;  ///< indexed by position / 64; this head's keys and values lie at the offsets below
  size_t key_offset;              ///< bytes
  size_t value_offset;            ///< bytes
  size_t key_size;
  size_t value_size;
  size_t value_stride;  ///< value_size rounded up to 16
  float scale;
  const float* const* gates;  ///< per query value_size gates, or null
  const float* sinks;         ///< per query the logit of its sink, or null
};
// Internal linkage: a copy compiled for one instruction set must not serve the others.
/// Floats that a page gives for one query, and that the merging of a task keeps.
static inline size_t partial_floats(const AttentionTask& task) { return kPartialHead + task.value_stride; }
static inline size_t state_floats(const AttentionTask& task) { return task.count * (2 + task.value_stride); }

/// Pages `first` to `last` of a task.
struct AttentionPart {
  int32_t first, last;
};
/// The pages that some query sees.
static inline AttentionPart visible_pages(const AttentionTask& task) {
  AttentionPart part{task.first[0], task.last[0]};
  for (size_t q = 1; q < task.count; ++q) {
    part.first = task.first[q] < part.first ? task.first[q] : part.first;
    part.last = task.last[q] > part.last ? task.last[q] : part.last;
  }
  return {part.first / 64, part.last / 64};
}

/// A causal convolution of each channel on its own: out[r][c] = f(bias[c] + sum over k of taps[k][c] * input), where
/// the last tap meets row r and the others rows `dilation` apart before it. Rows before the first are in `tail`, oldest
/// first; it ends up holding the inputs that the next rows need.
struct ConvolutionTask {
  const float* x;
  size_t x_stride;
  float* out;
  size_t out_stride;
  size_t rows;
  const float* taps;  ///< [kernel][channels]
  const float* bias;  ///< or null
  float* tail;        ///< [(kernel - 1) * dilation][channels]
  size_t channels;    ///< of taps and tail; the pointers above are at the first of `count`
  size_t count;
  size_t kernel;
  size_t dilation;
  Activation activation;
};

/// One value head of a delta rule: where its parts lie in a row, and its state.
struct DeltaHead {
  size_t value;   ///< first channel in the projections
  size_t index;   ///< among all value heads
  float* matrix;  ///< [size][size]: state, key dimension first
};
/// The value heads that share a key head, over all rows of a span.
struct DeltaTask {
  const float* projections;  ///< queries, keys and values before the convolution
  size_t projection_stride;
  const float* z;
  size_t z_stride;
  const float* beta;
  size_t beta_stride;
  const float* alpha;
  size_t alpha_stride;
  float* out;
  size_t out_stride;
  size_t rows;
  size_t size;   ///< of a head: a multiple of 16, at most kMaximumHeadSize
  size_t query;  ///< first channel
  size_t key;    ///< first channel
  const DeltaHead* heads;
  size_t head_count;
  const float* taps;  ///< [kernel][channels]
  float* tail;        ///< [kernel - 1][channels]
  size_t kernel;
  size_t channels;
  const float* decay;  ///< per value head
  const float* bias;   ///< per value head
  const float* gain;
  float epsilon;
  Activation gate;
};

/// One head of a state space over all rows of a span. Per row, with time = softplus(time + time_bias):
///   S = exp(decay * time) S + B (time x)^T,  out = (S^T C + skip x) silu(z)
struct StateSpaceTask {
  const float* x;  ///< `size` values per row, as B and C behind the convolution
  const float* b;  ///< `states` values per row
  const float* c;  ///< `states` values per row
  size_t stride;   ///< between rows of x, b and c
  const float* z;
  size_t z_stride;
  const float* time;
  size_t time_stride;
  float* out;
  size_t out_stride;
  size_t rows;
  size_t size;  ///< of the head: a multiple of 16
  size_t states;
  float* state;  ///< [states][size]
  float decay;
  float skip;
  float time_bias;
};

struct Kernels {
  const char* name;
  size_t group_count;
  const BlockKernelGroup* const* groups;

  void (*quantize)(const float* x, size_t blocks, ActivationBlock* out);
  /// out = x / sqrt(mean(x^2) + epsilon) * gain; gain may be null. `out` may be `x`.
  void (*rms_norm)(const float* x, const float* gain, size_t size, float epsilon, float* out);
  /// out = activation(gate) * up
  void (*gate)(GateFunction function, const float* gate, const float* up, size_t size, float* out);
  void (*attention_f16)(const AttentionTask& task);
  void (*attention_f32)(const AttentionTask& task);
  /// The same in parts: [pages][count][partial_floats()] partials of some pages each, by whom it may be, and then their
  /// merging in order into `state`, which takes state_floats().
  void (*attention_part_f16)(const AttentionTask& task, const AttentionPart& part, float* partials);
  void (*attention_part_f32)(const AttentionTask& task, const AttentionPart& part, float* partials);
  void (*merge_attention)(const AttentionTask& task, const AttentionPart& part, const float* partials, float* state);
  void (*to_half)(const float* x, size_t size, uint16_t* out);  ///< saturating
  /// Sums of bytes at full reading speed, and back-to-back integer dot products: the limits that `terrace bench`
  /// compares with. `streams` (1 or 4) are read side by side, `prefetch` bytes ahead of use (0: left to the hardware).
  uint64_t (*read)(const std::byte* data, size_t bytes, size_t streams, size_t prefetch);
  uint64_t (*integer_dots)(size_t rounds);  ///< returns operations done (2 per product)
  void (*activate)(Activation activation, float* x, size_t size);
  void (*soft_cap)(float cap, float* x, size_t size);  ///< x = cap * tanh(x / cap)
  /// out = fma(scale, x, out)
  void (*add_scaled)(const float* x, float scale, size_t size, float* out);
  /// The sum of weights[i] * rows[i], one fma per row in order, times scale; added to `out` if `accumulate`.
  void (*combine)(const float* const* rows, const float* weights, size_t count, size_t size, float scale,
                  bool accumulate, float* out);
  void (*softmax)(float* x, size_t size);  ///< in place
  void (*convolve)(const ConvolutionTask& task);
  void (*delta_rule)(const DeltaTask& task);
  void (*state_space)(const StateSpaceTask& task);
  /// out = mean over streams of mix * x; x and mix are [streams][size].
  void (*mix_streams)(const float* x, const float* mix, size_t streams, size_t size, float* out);
  float (*dot)(const float* x, const float* y, size_t size);
  /// scores[b] = sum over heads of max(0, query . key b) for keys [size][blocks]; `blocks` is a multiple of 16.
  void (*score_blocks)(const float* queries, size_t heads, size_t size, const float* keys, size_t blocks,
                       float* scores);

  const BlockKernels* find(uint32_t type) const {
    for (size_t g = 0; g < group_count; ++g) {
      for (size_t i = 0; i < groups[g]->count; ++i) {
        if (groups[g]->types[i].type == type) return &groups[g]->types[i];
      }
    }
    return nullptr;
  }
};

extern const Kernels kScalarKernels, kAvx2Kernels, kAvxVnniKernels, kAvx512Kernels, kAvx512VnniKernels;

}  // namespace terrace::compute
