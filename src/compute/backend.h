// The operations that a model is written in, and the interface of what executes them.
//
// A backend knows nothing of model families. Row counts, positions and page tables come with each call; matrices are
// placed once. All operations of one step are called from one thread, in order; each returns when its outputs may be
// read by the next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

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
  const float* gain = nullptr;
  float epsilon = 0;
};

struct Linear {
  const Matrix* weight = nullptr;
  const float* bias = nullptr;  ///< optional, one per output
  Rows out;
  bool accumulate = false;  ///< add to `out` instead of replacing it
};

enum class GateFunction { silu, gelu_tanh };

/// Which values of a head turn together.
enum class RopePairs { adjacent, halves };

/// Rotation per position: pair i turns by position * frequencies[i]; cosines and sines are multiplied by `magnitude`.
struct Rope {
  std::span<const float> frequencies;  ///< one per pair
  float magnitude = 1;
};

/// Consecutive rows of one sequence in a step, with the sequence's KV pages (of 64 positions each, all layers in one
/// page).
struct RowSpan {
  size_t first_row = 0;
  size_t rows = 0;
  int32_t first_position = 0;
  std::byte* const* pages = nullptr;
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

struct Attention {
  Rows queries;  ///< heads * key_size, changed in place by norm and rope
  Rows keys;     ///< kv heads * key_size, likewise
  Rows values;   ///< kv heads * value_size
  Rows out;      ///< heads * value_size
  size_t heads = 0;
  const KvLayer* kv = nullptr;
  RopePairs pairs = RopePairs::adjacent;
  Rows turns;  ///< as turns() makes them; no width: no rotation
  float scale = 1;
  int32_t window = 0;  ///< a query sees this many positions up to its own; 0: all
};

class Backend {
 public:
  virtual ~Backend() = default;

  /// Places a matrix; the view's data is not needed afterwards. Null when the type cannot be computed.
  virtual std::unique_ptr<Matrix> place(const MatrixView& view) = 0;

  /// out row i = row tokens[i] of the table.
  virtual void embed(const Matrix& table, std::span<const int32_t> tokens, Rows out) = 0;
  virtual void norm(Rows x, const Norm& norm, Rows out) = 0;
  /// Each output = weight * norm(x) + bias, all from one pass over the input.
  virtual void linear(Rows x, const std::optional<Norm>& norm, std::span<const Linear> outputs) = 0;
  /// out = f(gate * norm(x)) . (up * norm(x))
  virtual void gated_linear(Rows x, const std::optional<Norm>& norm, const Matrix& gate, const Matrix& up,
                            GateFunction function, Rows out) = 0;
  /// out row = cosine and sine of each pair of `rope` at the row's position; shared by all layers of a step.
  virtual void turns(const Rope& rope, std::span<const RowSpan> spans, Rows out) = 0;
  /// Turns queries and keys, stores keys and values in the spans' pages, and attends causally.
  virtual void attention(const Attention& attention, std::span<const RowSpan> spans) = 0;

  virtual std::string_view instruction_set() const = 0;
  virtual size_t threads() const = 0;
};

}  // namespace terrace::compute
