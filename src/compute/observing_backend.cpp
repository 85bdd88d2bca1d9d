#include "compute/observing_backend.h"

#include <cstring>

namespace terrace::compute {
namespace {

Rows rows_in(Buffer& buffer, size_t count, size_t width) {
  const size_t stride = (width + 15) / 16 * 16, bytes = count * stride * sizeof(float);
  if (buffer.size() < bytes) buffer = Buffer(bytes, Purpose::activations);
  return {buffer.as<float>(), count, width, stride};
}

}  // namespace

std::unique_ptr<Matrix> ObservingBackend::place(const MatrixView& view) {
  auto matrix = inner_.place(view);
  if (matrix) {
    // A matrix that is gone may have had the same address.
    Placed& placed = placed_[matrix.get()];
    placed = {std::string(view.tensor), view};
    placed.view.data = {};
    placed.view.tensor = placed.name;
    observer_.placed(placed.view);
  }
  return matrix;
}

void ObservingBackend::observe(const Matrix& matrix, Rows inputs) {
  observer_.product(placed_.at(&matrix).view, inputs);
}

Rows ObservingBackend::normalized(Rows x, const std::optional<Norm>& norm) {
  if (!norm) return x;
  const Rows out = rows_in(normalized_, x.count, x.width);
  inner_.normalize(x, *norm, out);
  return out;
}

void ObservingBackend::linear(Rows x, const std::optional<Norm>& norm, std::span<const Linear> outputs) {
  const Rows inputs = normalized(x, norm);
  for (const Linear& output : outputs) observe(*output.weight, inputs);
  inner_.linear(x, norm, outputs);
}

void ObservingBackend::gated_linear(Rows x, const std::optional<Norm>& norm, const Matrix& gate, const Matrix& up,
                                    GateFunction function, Rows out) {
  const Rows inputs = normalized(x, norm);
  observe(gate, inputs);
  observe(up, inputs);
  inner_.gated_linear(x, norm, gate, up, function, out);
}

void ObservingBackend::observe_expert(const Expert& expert, GateFunction function, Rows inputs) {
  observe(*expert.gate, inputs);
  observe(*expert.up, inputs);
  const Rows hidden = rows_in(hidden_, inputs.count, expert.gate->rows());
  const Rows up = rows_in(up_, inputs.count, expert.up->rows());
  const Linear outputs[] = {{expert.gate, expert.gate_bias, hidden}, {expert.up, expert.up_bias, up}};
  inner_.linear(inputs, std::nullopt, outputs);
  inner_.gate(function, hidden, up, hidden);
  observe(*expert.down, hidden);
}

void ObservingBackend::experts(Rows x, const std::optional<Norm>& norm, std::span<const Expert> experts,
                               GateFunction function, const Routes& routes, float scale, bool accumulate, Rows out) {
  const Rows inputs = normalized(x, norm);
  for (size_t e = 0; e < experts.size(); ++e) {
    Rows own = rows_in(gathered_, x.count, x.width);
    own.count = 0;
    for (size_t place = 0; place < routes.rows * routes.used; ++place) {
      if (routes.experts[place] != static_cast<int32_t>(e)) continue;
      std::memcpy(own.row(own.count++), inputs.row(place / routes.used), x.width * sizeof(float));
    }
    if (own.count > 0) observe_expert(experts[e], function, own);
  }
  inner_.experts(x, norm, experts, function, routes, scale, accumulate, out);
}

}  // namespace terrace::compute
