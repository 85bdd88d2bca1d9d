// Products of activations with matrices: the input is prepared once for all outputs, the panels are shared out to the
// team.
#include <algorithm>

#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/tiles.h"

namespace terrace::compute {
namespace {

// Below this many inputs every member prepares all of them for itself: cheaper than waiting for the others.
constexpr size_t kOwnInputs = 16384;

size_t round_up(size_t value, size_t multiple) { return (value + multiple - 1) / multiple * multiple; }

}  // namespace

CpuBackend::Needs CpuBackend::needs_of(const Matrix& matrix) const {
  const bool codes = static_cast<const CpuMatrix&>(matrix).kernels->dot_codes && !float_activations_;
  return {!codes, codes};
}

size_t CpuBackend::input_bytes(size_t rows, size_t width, const std::optional<Norm>& norm, Needs needs) const {
  const size_t floats = norm || needs.codes ? rows * round_up(width, kBlock) * sizeof(float) : 0;
  return floats + (needs.codes ? rows * (width / kBlock) * sizeof(ActivationBlock) : 0);
}

/// `scratch` has input_bytes(x.count, ...); the rows first..last are filled, so that members can share the work.
CpuBackend::Input CpuBackend::prepare_rows(Rows x, size_t first, size_t last, const std::optional<Norm>& norm,
                                           Needs needs, std::byte* scratch) const {
  Input input{x.data, x.stride, nullptr, x.width / kBlock};
  const size_t stride = round_up(x.width, kBlock);
  auto* floats = reinterpret_cast<float*>(scratch);
  auto* codes =
      reinterpret_cast<ActivationBlock*>(scratch + (norm || needs.codes ? x.count * stride * sizeof(float) : 0));
  if (norm) {
    input.floats = floats;
    input.float_stride = stride;
  }
  if (needs.codes) input.codes = codes;
  for (size_t r = first; r < last; ++r) {
    if (norm) normalize_row(x.row(r), x.width, *norm, floats + r * stride);
    if (needs.codes) kernels_->quantize(input.floats + r * input.float_stride, input.blocks, codes + r * input.blocks);
  }
  return input;
}

void CpuBackend::with_input(Rows x, const std::optional<Norm>& norm, Needs needs, size_t count, size_t grain,
                            FunctionRef<void(size_t, const Input&, size_t, size_t)> work) {
  const size_t bytes = input_bytes(x.count, x.width, norm, needs);
  if (x.count * x.width > kOwnInputs) {
    std::byte* scratch = grown(shared_scratch_, bytes);
    team_.for_each(x.count, 4, [&](size_t first, size_t last) { prepare_rows(x, first, last, norm, needs, scratch); });
    const Input input = prepare_rows(x, 0, 0, norm, needs, scratch);
    return team_.for_pieces(count, grain,
                            [&](size_t member, size_t first, size_t last) { work(member, input, first, last); });
  }
  for (Buffer& buffer : scratch_) grown(buffer, bytes);
  std::atomic<size_t> next{0};
  team_.run([&](size_t member) {
    const Input input = prepare_rows(x, 0, x.count, norm, needs, scratch_[member].data());
    for (;;) {
      const size_t first = next.fetch_add(grain, std::memory_order_relaxed);
      if (first >= count) return;
      work(member, input, first, std::min(first + grain, count));
    }
  });
}

/// tile[r][i] = output i of the panel for input row first_row + r.
void CpuBackend::multiply(const CpuMatrix& matrix, size_t panel, const Input& input, size_t first_row, size_t rows,
                          float* tile) const {
  const std::byte* data = matrix.panel(panel);
  if (needs_of(matrix).codes)
    matrix.kernels->dot_codes(data, matrix.inputs() / kBlock, input.codes + first_row * input.blocks, input.blocks,
                              rows, tile);
  else
    matrix.kernels->dot_floats(data, matrix.inputs(), input.floats + first_row * input.float_stride, input.float_stride,
                               rows, tile);
}

/// Panels per piece of work: a few pieces per member for balance; with many rows no more than stays in the L2 cache.
size_t CpuBackend::panel_grain(size_t panels, size_t panel_bytes, size_t rows) const {
  const size_t balanced = std::max<size_t>(1, panels / (team_.size() * 4));
  if (rows <= kTile) return balanced;
  return std::clamp<size_t>((size_t{256} << 10) / panel_bytes, 1, balanced);
}

/// Bias, scale and activation of a tile of outputs, and its way to their place.
void CpuBackend::finish_tile(const Linear& output, size_t panel, size_t row, size_t rows, float* tile) const {
  const size_t at = panel * kPanel, width = std::min(kPanel, output.weight->rows() - at);
  for (size_t r = 0; r < rows; ++r) {
    float* values = tile + r * kPanel;
    if (output.bias) add_to(values, output.bias + at, width);
    if (output.scale != 1) {
      for (size_t i = 0; i < kPanel; ++i) values[i] *= output.scale;
    }
    if (output.activation != Activation::none) kernels_->activate(output.activation, values, kPanel);
    if (output.soft_cap != 0) kernels_->soft_cap(output.soft_cap, values, kPanel);
    put_tile_row(values, width, output.accumulate, output.out.row(row + r) + at);
  }
}

void CpuBackend::linear(Rows x, const std::optional<Norm>& norm, std::span<const Linear> outputs) {
  size_t panels = 0, largest = 1;
  Needs needs;
  for (const Linear& output : outputs) {
    const auto& matrix = static_cast<const CpuMatrix&>(*output.weight);
    panels += matrix.panels();
    largest = std::max(largest, matrix.panel_bytes());
    needs.floats |= needs_of(matrix).floats;
    needs.codes |= needs_of(matrix).codes;
  }
  // One panel of one output for some rows.
  const auto do_tile = [&](const Input& input, const Linear& output, size_t panel, size_t row, size_t rows) {
    alignas(64) float tile[kTile * kPanel];
    const auto& matrix = static_cast<const CpuMatrix&>(*output.weight);
    multiply(matrix, panel, input, row, rows, tile);
    finish_tile(output, panel, row, rows, tile);
  };
  const auto do_panels = [&](size_t, const Input& input, size_t first, size_t last) {
    for (size_t row = 0; row < x.count; row += kTile) {
      size_t offset = 0;
      for (const Linear& output : outputs) {
        const size_t count = static_cast<const CpuMatrix&>(*output.weight).panels();
        for (size_t panel = std::max(first, offset); panel < std::min(last, offset + count); ++panel) {
          do_tile(input, output, panel - offset, row, std::min(kTile, x.count - row));
        }
        offset += count;
      }
    }
  };
  with_input(x, norm, needs, panels, panel_grain(panels, largest, x.count), do_panels);
}

void CpuBackend::gated_linear(Rows x, const std::optional<Norm>& norm, const Matrix& gate, const Matrix& up,
                              GateFunction function, Rows out) {
  const auto &gates = static_cast<const CpuMatrix&>(gate), &ups = static_cast<const CpuMatrix&>(up);
  Needs needs = needs_of(gate);
  needs.floats |= needs_of(up).floats;
  needs.codes |= needs_of(up).codes;
  const auto do_tile = [&](const Input& input, size_t panel, size_t row, size_t rows) {
    alignas(64) float gate_tile[kTile * kPanel], up_tile[kTile * kPanel];
    multiply(gates, panel, input, row, rows, gate_tile);
    multiply(ups, panel, input, row, rows, up_tile);
    kernels_->gate(function, gate_tile, up_tile, rows * kPanel, gate_tile);
    const size_t at = panel * kPanel, width = std::min(kPanel, gates.rows() - at);
    for (size_t r = 0; r < rows; ++r) put_tile_row(gate_tile + r * kPanel, width, false, out.row(row + r) + at);
  };
  const auto do_panels = [&](size_t, const Input& input, size_t first, size_t last) {
    for (size_t row = 0; row < x.count; row += kTile) {
      for (size_t panel = first; panel < last; ++panel) do_tile(input, panel, row, std::min(kTile, x.count - row));
    }
  };
  const size_t panels = gates.panels(), bytes = gates.panel_bytes() + ups.panel_bytes();
  with_input(x, norm, needs, panels, panel_grain(panels, bytes, x.count), do_panels);
}

}  // namespace terrace::compute
