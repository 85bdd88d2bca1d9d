// A backend that lets somebody see what every matrix is multiplied with, and leaves the work to another one.
#pragma once

#include <map>

#include "base/buffer.h"
#include "compute/backend.h"

namespace terrace::compute {

/// Called from the thread that loads the model or runs the step.
class ProductObserver {
 public:
  virtual ~ProductObserver() = default;
  /// A matrix that products may follow with.
  virtual void placed(const MatrixView& view) = 0;
  /// The inputs of products with a matrix, after their norm; called before the products. `view` is what the matrix was
  /// placed from, without data.
  virtual void product(const MatrixView& view, Rows inputs) = 0;
};

/// Passes every operation on; the results are the inner backend's own. Expert stages are computed a second time to see
/// what the down projections read, so this is slow.
class ObservingBackend : public Backend {
 public:
  /// Both must outlive it.
  ObservingBackend(Backend& inner, ProductObserver& observer) : inner_(inner), observer_(observer) {}

  std::unique_ptr<Matrix> place(const MatrixView& view) override;
  void linear(Rows x, const std::optional<Norm>& norm, std::span<const Linear> outputs) override;
  void gated_linear(Rows x, const std::optional<Norm>& norm, const Matrix& gate, const Matrix& up,
                    GateFunction function, Rows out) override;
  void experts(Rows x, const std::optional<Norm>& norm, std::span<const Expert> experts, GateFunction function,
               const Routes& routes, float scale, bool accumulate, Rows out) override;

  void embed(const Matrix& table, std::span<const int32_t> tokens, float scale, Rows out) override {
    inner_.embed(table, tokens, scale, out);
  }
  void normalize(Rows x, const Norm& norm, Rows out) override { inner_.normalize(x, norm, out); }
  void add(Rows x, const std::optional<Norm>& norm, float scale, Rows out) override { inner_.add(x, norm, scale, out); }
  void scale(float factor, Rows x) override { inner_.scale(factor, x); }
  void gate(GateFunction function, Rows gates, Rows x, Rows out) override { inner_.gate(function, gates, x, out); }
  void turns(const Rope& rope, std::span<const RowSpan> spans, Rows out) override { inner_.turns(rope, spans, out); }
  void attention(const Attention& attention, std::span<const RowSpan> spans) override {
    inner_.attention(attention, spans);
  }
  void route(Rows scores, const Router& router, Rows shared, const Routes& routes) override {
    inner_.route(scores, router, shared, routes);
  }
  void convolution(const Convolution& convolution, std::span<const RowSpan> spans) override {
    inner_.convolution(convolution, spans);
  }
  void delta_rule(const DeltaRule& rule, std::span<const RowSpan> spans) override { inner_.delta_rule(rule, spans); }
  void state_space(const StateSpace& space, std::span<const RowSpan> spans) override {
    inner_.state_space(space, spans);
  }
  void select_blocks(const BlockIndex& index, std::span<const RowSpan> spans, const Selection& selection) override {
    inner_.select_blocks(index, spans, selection);
  }
  void mix_streams(Rows streams, const Norm& norm, Rows mix, Rows out) override {
    inner_.mix_streams(streams, norm, mix, out);
  }
  void inject(Rows x, Rows amounts, float scale, Rows streams) override { inner_.inject(x, amounts, scale, streams); }
  void gate_streams(Rows keys, const Norm& key_norm, Rows streams, const Norm& stream_norm, Rows values,
                    Rows out) override {
    inner_.gate_streams(keys, key_norm, streams, stream_norm, values, out);
  }
  std::string_view instruction_set() const override { return inner_.instruction_set(); }
  size_t threads() const override { return inner_.threads(); }

 private:
  /// What a matrix was placed from; the name's own memory.
  struct Placed {
    std::string name;
    MatrixView view;
  };
  void observe(const Matrix& matrix, Rows inputs);
  Rows normalized(Rows x, const std::optional<Norm>& norm);
  void observe_expert(const Expert& expert, GateFunction function, Rows inputs);

  Backend& inner_;
  ProductObserver& observer_;
  std::map<const Matrix*, Placed> placed_;
  Buffer normalized_, gathered_, hidden_, up_;
};

}  // namespace terrace::compute
