// What the operations of a backend take: rows of floats, matrices, and the parameters of the coarse operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "compute/functions.h"

namespace terrace::compute {

/// Rows of floats: row r begins at data + r * stride.
struct Rows {
  float* data = nullptr;
  size_t count = 0;
  size_t width = 0;
  size_t stride = 0;
  float* row(size_t r) const { return data + r * stride; }
};

/// An encoded matrix in a file: `rows` outputs of `inputs` weights each.
struct MatrixView {
  uint32_t type = 0;  ///< ggml type code
  size_t rows = 0;
  size_t inputs = 0;
  std::span<const std::byte> data;
  // For who observes products.
  std::string_view tensor;  ///< the name in the file
  size_t index = 0;         ///< which of the tensor's matrices, where it has several
  size_t first_input = 0;   ///< the column of the tensor where the matrix begins
};

/// A matrix where the backend keeps it.
class Matrix {
 public:
  virtual ~Matrix() = default;
  virtual uint32_t type() const = 0;
  virtual size_t rows() const = 0;
  virtual size_t inputs() const = 0;
};

/// RMS norm over a row: x / sqrt(mean(x^2) + epsilon) * gain.
struct Norm {
  const float* gain = nullptr;  ///< null: ones
  float epsilon = 0;
  size_t groups = 1;  ///< equal parts of the row, each normalised on its own; the gain covers the whole row
};

struct Linear {
  const Matrix* weight = nullptr;
  const float* bias = nullptr;  ///< optional, one per output
  Rows out;
  bool accumulate = false;  ///< add to `out` instead of replacing it
  float scale = 1;          ///< multiplies the product with its bias
  Activation activation = Activation::none;
  float soft_cap = 0;  ///< if not 0, outputs become soft_cap * tanh(output / soft_cap) at last
};

/// Which values of a head turn together.
enum class RopePairs { adjacent, halves };

/// Rotation per position: pair i turns by position * frequencies[i]; cosines and sines are multiplied by `magnitude`.
struct Rope {
  std::span<const float> frequencies;  ///< one per pair
  float magnitude = 1;
};

/// Consecutive rows of one sequence in a step, with the sequence's KV pages (of 64 positions each, all layers in one
/// page) and the rest of its state.
struct RowSpan {
  size_t first_row = 0;
  size_t rows = 0;
  int32_t first_position = 0;
  std::byte* const* pages = nullptr;
  std::byte* state = nullptr;  ///< what recurrent blocks keep between steps, each at its own offset
};

/// Where a layer's keys and values lie in a page: per head [key_size][64] and [64][value_size rounded up to 16].
struct KvLayer {
  bool half = true;  ///< f16, else f32
  size_t heads = 0;
  size_t key_size = 0;
  size_t value_size = 0;
  size_t key_offset = 0;    ///< bytes
  size_t value_offset = 0;  ///< bytes
  size_t element_bytes() const { return half ? 2 : 4; }
  size_t key_bytes() const { return key_size * 64 * element_bytes(); }  ///< per head
  size_t value_stride() const { return (value_size + 15) / 16 * 16; }
  size_t value_bytes() const { return value_stride() * 64 * element_bytes(); }  ///< per head
  size_t bytes() const { return heads * (key_bytes() + value_bytes()); }
};

/// Which blocks of positions each row attends to (Backend::select_blocks).
struct Selection {
  size_t ratio = 0;           ///< positions per block
  size_t most = 0;            ///< blocks per row at most
  int32_t* blocks = nullptr;  ///< per row `most` places, ascending
  int32_t* counts = nullptr;  ///< per row; -1: the row sees all positions
};

struct Attention {
  Rows queries;  ///< per head key_size values, and value_size gates behind them if `gated`; changed in place
  Rows keys;     ///< kv heads * key_size, changed in place; no data: the layer's keys and values are in the pages
  Rows values;   ///< kv heads * value_size; no data: the keys before norm and rotation
  Rows out;      ///< heads * value_size
  size_t heads = 0;
  const KvLayer* kv = nullptr;
  std::optional<Norm> query_norm, key_norm, value_norm;  ///< per head, before the rotation
  RopePairs pairs = RopePairs::adjacent;
  Rows turns;  ///< as turns() makes them; no width: no rotation
  float scale = 1;
  int32_t window = 0;            ///< a query sees this many positions up to its own; 0: all
  bool gated = false;            ///< outputs are multiplied by the sigmoid of their gates
  const float* sinks = nullptr;  ///< optional, per head: a logit that takes part in the softmax without a value
  const Selection* selection = nullptr;
};

/// How scores become choices and weights.
struct Router {
  enum class Function {
    softmax,  ///< the best scores; weights: softmax over the chosen
    sigmoid,  ///< the best of sigmoid(score) + bias; weights: sigmoid(score) / (their sum + 1e-6)
  };
  Function function = Function::softmax;
  size_t used = 0;
  const float* selection_bias = nullptr;  ///< optional, per expert
  const float* expert_scale = nullptr;    ///< optional, per expert: multiplies the weight
};

/// The experts of each row, in ascending order, and their weights: `used` places per row.
struct Routes {
  size_t rows = 0;
  size_t used = 0;
  int32_t* experts = nullptr;
  float* weights = nullptr;
};

constexpr size_t kMaximumIndexSize = 1024;  ///< values of an index key that backends can hold

/// Chooses, for each row, the blocks of `ratio` positions whose pooled keys answer its queries best, as Qwen's sparse
/// attention does: a block's key is the mean of its raw keys, normalised, then turned at its first position; its score
/// is the sum over heads of max(0, query . key). Source: transformers' modeling_qwen4_exp.py.
struct BlockIndex {
  Rows queries;  ///< heads * size, changed in place by norm and rotation
  Rows keys;     ///< size
  size_t heads = 0;
  size_t size = 0;
  Norm query_norm, key_norm;
  RopePairs pairs = RopePairs::halves;
  Rows turns;               ///< of the rows
  Rope rope;                ///< that the turns were made from
  size_t ratio = 0;         ///< divides 64
  size_t page_offset = 0;   ///< bytes: the pooled keys of the page's blocks, [size][stride()] floats
  size_t state_offset = 0;  ///< bytes: the sum of the raw keys of the block that is still open, [size] floats
  size_t blocks_per_page() const { return 64 / ratio; }
  size_t stride() const { return (blocks_per_page() + 15) / 16 * 16; }
  size_t page_bytes() const { return size * stride() * sizeof(float); }
  size_t state_bytes() const { return size * sizeof(float); }
};

/// A gated feed-forward block: down(f(gate x) * up x).
struct Expert {
  const Matrix* gate = nullptr;
  const Matrix* up = nullptr;
  const Matrix* down = nullptr;
  const float* gate_bias = nullptr;  ///< the biases are optional
  const float* up_bias = nullptr;
  const float* down_bias = nullptr;
};

/// A causal convolution over positions, each channel on its own.
struct Convolution {
  Rows x;                       ///< inputs; multiplied by input_gate in place if there is one
  Rows input_gate;              ///< optional
  Rows out;                     ///< must not overlap x
  Rows output_gate;             ///< optional: multiplies the outputs
  const float* taps = nullptr;  ///< [kernel][channels], the last meets the current position
  const float* bias = nullptr;  ///< optional, per channel
  size_t kernel = 0;
  size_t dilation = 1;
  Activation activation = Activation::none;
  size_t state_offset = 0;  ///< bytes: the latest (kernel - 1) * dilation inputs [channels], oldest first
};

/// The gated delta rule with what lies around it: a convolution with SiLU over the projections, normalised queries and
/// keys, the recurrence, and the gated norm of its output. Source: Yang et al., "Gated Delta Networks" (2024), in
/// transformers' form (modeling_qwen3_next.py).
struct DeltaRule {
  Rows qkv;    ///< queries, keys [key_heads * size each], values [value_heads * size]
  Rows z;      ///< gates of the output [value_heads * size]
  Rows beta;   ///< [value_heads], before the sigmoid
  Rows alpha;  ///< [value_heads]
  Rows out;    ///< [value_heads * size]
  size_t key_heads = 0;
  size_t value_heads = 0;
  size_t size = 0;        ///< of a head; a multiple of 16
  bool adjacent = false;  ///< value heads of a key head lie side by side; else value head h has key head h % key_heads
  const float* taps = nullptr;  ///< [kernel][channels of qkv]
  size_t kernel = 0;
  const float* decay = nullptr;  ///< [value_heads]: decay = exp(this * softplus(alpha + bias))
  const float* bias = nullptr;   ///< [value_heads]
  Norm norm;                     ///< over a head of the output
  Activation gate = Activation::silu;
  size_t tail_offset = 0;    ///< bytes: the latest kernel - 1 rows of qkv
  size_t matrix_offset = 0;  ///< bytes: [value_heads][size][size]
};

/// Mamba-2's state space behind its convolution: the recurrence of each head, times silu of its gate, then a norm over
/// groups of heads. Per head, with time = softplus(time + time_bias): S = exp(decay * time) S + B (time x)^T and
/// out = S^T C + skip * x. Source: Dao and Gu, "Transformers are SSMs" (2024), in transformers' form
/// (modeling_granitemoehybrid.py).
struct StateSpace {
  Rows convolved;  ///< x [heads * size], then B and C [groups * states] each
  Rows z;          ///< [heads * size]
  Rows time;       ///< [heads]
  Rows out;        ///< [heads * size]
  size_t heads = 0;
  size_t size = 0;    ///< of a head; a multiple of 16
  size_t groups = 0;  ///< equal parts of the heads; the heads of one share B and C
  size_t states = 0;
  const float* decay = nullptr;  ///< the others, too: [heads]
  const float* skip = nullptr;
  const float* time_bias = nullptr;
  Norm norm;
  size_t state_offset = 0;  ///< bytes: [heads][states][size]
};

}  // namespace terrace::compute
