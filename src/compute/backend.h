// The operations that a model is written in, and the interface of what executes them.
//
// A backend knows nothing of model families. Row counts, positions and page tables come with each call; matrices are
// placed once. All operations of one step are called from one thread, in order; each returns when its outputs may be
// read by the next.
#pragma once

#include <memory>
#include <string_view>

#include "compute/operations.h"

namespace terrace::compute {

class Backend {
 public:
  virtual ~Backend() = default;

  /// Places a matrix; the view's data is not needed afterwards. Null when the type cannot be computed.
  virtual std::unique_ptr<Matrix> place(const MatrixView& view) = 0;

  /// out row i = scale * row tokens[i] of the table.
  virtual void embed(const Matrix& table, std::span<const int32_t> tokens, float scale, Rows out) = 0;
  virtual void normalize(Rows x, const Norm& norm, Rows out) = 0;
  /// out += scale * norm(x), without a norm out += scale * x.
  virtual void add(Rows x, const std::optional<Norm>& norm, float scale, Rows out) = 0;
  /// x = factor * x
  virtual void scale(float factor, Rows x) = 0;
  /// Each output = activation(scale * (weight * norm(x) + bias)), all from one pass over the input.
  virtual void linear(Rows x, const std::optional<Norm>& norm, std::span<const Linear> outputs) = 0;
  /// out = f(gate * norm(x)) . (up * norm(x))
  virtual void gated_linear(Rows x, const std::optional<Norm>& norm, const Matrix& gate, const Matrix& up,
                            GateFunction function, Rows out) = 0;
  /// out = f(gates) . x; `out` may be either of them.
  virtual void gate(GateFunction function, Rows gates, Rows x, Rows out) = 0;
  /// out row = cosine and sine of each pair of `rope` at the row's position; shared by all layers of a step.
  virtual void turns(const Rope& rope, std::span<const RowSpan> spans, Rows out) = 0;
  /// Turns queries and keys, stores keys and values in the spans' pages, and attends causally.
  virtual void attention(const Attention& attention, std::span<const RowSpan> spans) = 0;

  /// Chooses routes.used experts for each row of `scores` [experts]. Places beyond router.used belong to a shared
  /// expert, the one after the last: its weight is the sigmoid of `shared`, or 1 where that has no data.
  virtual void route(Rows scores, const Router& router, Rows shared, const Routes& routes) = 0;
  /// out = scale * (sum of weight * expert(norm(x)) in the order of the routes); added to `out` if `accumulate`.
  virtual void experts(Rows x, const std::optional<Norm>& norm, std::span<const Expert> experts, GateFunction function,
                       const Routes& routes, float scale, bool accumulate, Rows out) = 0;
  virtual void convolution(const Convolution& convolution, std::span<const RowSpan> spans) = 0;
  virtual void delta_rule(const DeltaRule& rule, std::span<const RowSpan> spans) = 0;
  virtual void state_space(const StateSpace& space, std::span<const RowSpan> spans) = 0;
  /// Adds the rows' keys to the index and fills the selection, whose blocks are complete ones; the rest up to the row's
  /// own position is visible besides. Of equally good blocks the earlier one is chosen.
  virtual void select_blocks(const BlockIndex& index, std::span<const RowSpan> spans, const Selection& selection) = 0;

  // Rows of several residual streams side by side (hyper-connections).
  /// out = mean over the streams of mix * norm(streams).
  virtual void mix_streams(Rows streams, const Norm& norm, Rows mix, Rows out) = 0;
  /// Each stream += scale * amounts[stream] * x.
  virtual void inject(Rows x, Rows amounts, float scale, Rows streams) = 0;
  /// out stream = sigmoid(root(gate)) * values with gate = norm(keys) . norm(streams) / sqrt(width) in that stream and
  /// root(g) = sign(g) sqrt(max(|g|, 1e-6)).
  virtual void gate_streams(Rows keys, const Norm& key_norm, Rows streams, const Norm& stream_norm, Rows values,
                            Rows out) = 0;

  virtual std::string_view instruction_set() const = 0;
  virtual size_t threads() const = 0;
};

}  // namespace terrace::compute
