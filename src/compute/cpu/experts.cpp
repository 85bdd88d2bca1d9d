// Mixtures of experts: routing, and the expert stage. Rows are grouped by expert, so that each expert's panels are read
// once per step.
#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/tiles.h"

namespace terrace::compute {
namespace {

constexpr size_t kOwnRows = 4;  // so few rows are routed and summed up faster than the team wakes

/// The indices of the `count` largest of `scores`, best first; of equal ones the lower index is better.
void best(const float* scores, size_t size, size_t count, int32_t* chosen) {
  size_t filled = 0;
  for (size_t i = 0; i < size; ++i) {
    if (filled == count && !(scores[i] > scores[chosen[count - 1]])) continue;
    size_t at = filled < count ? filled++ : count - 1;
    for (; at > 0 && scores[i] > scores[chosen[at - 1]]; --at) chosen[at] = chosen[at - 1];
    chosen[at] = static_cast<int32_t>(i);
  }
}

}  // namespace

void CpuBackend::choose_experts(const float* scores, size_t count, const Router& router, int32_t* chosen,
                                float* weights, float* scratch) const {
  const bool sigmoid = router.function == Router::Function::sigmoid;
  const float* ranking = scores;
  if (sigmoid) {
    std::memcpy(scratch, scores, count * sizeof(float));
    kernels_->activate(Activation::sigmoid, scratch, count);
    scores = ranking = scratch;
  }
  if (router.selection_bias) {
    float* biased = scratch + count;
    for (size_t i = 0; i < count; ++i) biased[i] = scores[i] + router.selection_bias[i];
    ranking = biased;
  }
  best(ranking, count, router.used, chosen);
  std::sort(chosen, chosen + router.used);
  float sum = 0;
  for (size_t i = 0; i < router.used; ++i) {
    weights[i] = scores[chosen[i]];
    sum += weights[i];
  }
  if (!sigmoid) kernels_->softmax(weights, router.used);
  for (size_t i = 0; i < router.used; ++i) {
    if (sigmoid) weights[i] /= sum + 1e-6F;
    if (router.expert_scale) weights[i] *= router.expert_scale[chosen[i]];
  }
}

void CpuBackend::route(Rows scores, const Router& router, Rows shared, const Routes& routes) {
  const size_t experts = scores.width;
  for (Buffer& buffer : scratch_) grown(buffer, 2 * experts * sizeof(float));
  const auto do_rows = [&](size_t member, size_t first, size_t last) {
    for (size_t r = first; r < last; ++r) {
      int32_t* chosen = routes.experts + r * routes.used;
      float* weights = routes.weights + r * routes.used;
      choose_experts(scores.row(r), experts, router, chosen, weights, scratch_[member].as<float>());
      if (routes.used == router.used) continue;
      chosen[router.used] = static_cast<int32_t>(experts);
      weights[router.used] = shared.data ? shared.row(r)[0] : 1.0F;
      if (shared.data) kernels_->activate(Activation::sigmoid, weights + router.used, 1);
    }
  };
  team_.for_pieces(scores.count, kOwnRows, do_rows);
}

/// Fills groups_, group_rows_ and places_.
void CpuBackend::group_by_expert(const Routes& routes, size_t experts) {
  const size_t places = routes.rows * routes.used;
  std::vector<size_t> next(experts + 1, 0);
  for (size_t i = 0; i < places; ++i) ++next[static_cast<size_t>(routes.experts[i]) + 1];
  groups_.clear();
  for (size_t e = 0; e < experts; ++e) {
    if (next[e + 1] > 0) groups_.push_back({e, next[e], next[e + 1]});
    next[e + 1] += next[e];
  }
  group_rows_.resize(places);
  places_.resize(places);
  for (size_t i = 0; i < places; ++i) {
    const size_t place = next[static_cast<size_t>(routes.experts[i])]++;
    group_rows_[place] = static_cast<int32_t>(i / routes.used);
    places_[i] = static_cast<int32_t>(place);
  }
}

/// Fills pieces_ for `matrices` matrices like `matrix` side by side: a few pieces per member for balance, with many
/// rows no more panels than stay in the L2 cache.
void CpuBackend::cut_experts(std::span<const Expert> experts, const Matrix* Expert::* matrix, size_t matrices) {
  size_t all = 0;
  for (const ExpertGroup& group : groups_)
    all += static_cast<const CpuMatrix&>(*(experts[group.expert].*matrix)).panels() * group.count;
  pieces_.clear();
  for (size_t g = 0; g < groups_.size(); ++g) {
    const auto& one = static_cast<const CpuMatrix&>(*(experts[groups_[g].expert].*matrix));
    const size_t balanced = std::max<size_t>(1, all / (team_.size() * 8) / groups_[g].count);
    const size_t grain = std::min(balanced, panel_grain(one.panels(), matrices * one.panel_bytes(), groups_[g].count));
    for (size_t panel = 0; panel < one.panels(); panel += grain)
      pieces_.push_back({g, panel, std::min(panel + grain, one.panels())});
  }
}

/// Rows group_rows_[first..first + count) of an input side by side: as they are if they are neighbours, else copied.
CpuBackend::Input CpuBackend::rows_of_group(const Input& input, size_t first, size_t count, Needs needs, size_t width,
                                            std::byte* scratch) const {
  const auto row = [&](size_t i) { return static_cast<size_t>(group_rows_[first + i]); };
  Input rows = input;
  if (row(count - 1) - row(0) == count - 1) {
    if (needs.floats) rows.floats += row(0) * input.float_stride;
    if (needs.codes) rows.codes += row(0) * input.blocks;
    return rows;
  }
  auto* codes = reinterpret_cast<ActivationBlock*>(scratch);
  auto* floats = reinterpret_cast<float*>(scratch + (needs.codes ? kTile * input.blocks * sizeof(ActivationBlock) : 0));
  for (size_t i = 0; i < count; ++i) {
    if (needs.codes)
      std::memcpy(codes + i * input.blocks, input.codes + row(i) * input.blocks,
                  input.blocks * sizeof(ActivationBlock));
    if (needs.floats)
      std::memcpy(floats + i * width, input.floats + row(i) * input.float_stride, width * sizeof(float));
  }
  if (needs.codes) rows.codes = codes;
  if (needs.floats) {
    rows.floats = floats;
    rows.float_stride = width;
  }
  return rows;
}

void CpuBackend::gate_and_up(Rows x, const std::optional<Norm>& norm, std::span<const Expert> experts,
                             GateFunction function, Rows hidden) {
  Needs needs;
  for (const ExpertGroup& group : groups_) {
    for (const Matrix* matrix : {experts[group.expert].gate, experts[group.expert].up}) {
      needs.floats |= needs_of(*matrix).floats;
      needs.codes |= needs_of(*matrix).codes;
    }
  }
  for (Buffer& buffer : gathered_)
    grown(buffer, kTile * (x.width * sizeof(float) + x.width / kBlock * sizeof(ActivationBlock)));
  cut_experts(experts, &Expert::gate, 2);
  const auto do_tile = [&](const Expert& expert, const Input& input, size_t panel, size_t place, size_t rows) {
    alignas(64) float gate_tile[kTile * kPanel], up_tile[kTile * kPanel];
    multiply(static_cast<const CpuMatrix&>(*expert.gate), panel, input, 0, rows, gate_tile);
    multiply(static_cast<const CpuMatrix&>(*expert.up), panel, input, 0, rows, up_tile);
    const size_t at = panel * kPanel, width = std::min(kPanel, expert.gate->rows() - at);
    for (size_t r = 0; r < rows; ++r) {
      if (expert.gate_bias) add_to(gate_tile + r * kPanel, expert.gate_bias + at, width);
      if (expert.up_bias) add_to(up_tile + r * kPanel, expert.up_bias + at, width);
    }
    kernels_->gate(function, gate_tile, up_tile, rows * kPanel, gate_tile);
    for (size_t r = 0; r < rows; ++r) put_tile_row(gate_tile + r * kPanel, width, false, hidden.row(place + r) + at);
  };
  with_input(x, norm, needs, pieces_.size(), 1, [&](size_t member, const Input& input, size_t index, size_t) {
    const ExpertPiece& piece = pieces_[index];
    const ExpertGroup& group = groups_[piece.group];
    for (size_t i = 0; i < group.count; i += kTile) {
      const size_t rows = std::min(kTile, group.count - i);
      const Input own = rows_of_group(input, group.first + i, rows, needs, x.width, gathered_[member].data());
      for (size_t panel = piece.first_panel; panel < piece.last_panel; ++panel)
        do_tile(experts[group.expert], own, panel, group.first + i, rows);
    }
  });
}

void CpuBackend::down(Rows hidden, std::span<const Expert> experts, Rows out) {
  Needs needs;
  for (const ExpertGroup& group : groups_) {
    needs.floats |= needs_of(*experts[group.expert].down).floats;
    needs.codes |= needs_of(*experts[group.expert].down).codes;
  }
  cut_experts(experts, &Expert::down, 1);
  with_input(hidden, std::nullopt, needs, pieces_.size(), 1, [&](size_t, const Input& input, size_t index, size_t) {
    alignas(64) float tile[kTile * kPanel];
    const ExpertPiece& piece = pieces_[index];
    const ExpertGroup& group = groups_[piece.group];
    const Linear output{experts[group.expert].down, experts[group.expert].down_bias, out};
    for (size_t i = 0; i < group.count; i += kTile) {
      const size_t rows = std::min(kTile, group.count - i);
      for (size_t panel = piece.first_panel; panel < piece.last_panel; ++panel) {
        multiply(static_cast<const CpuMatrix&>(*output.weight), panel, input, group.first + i, rows, tile);
        finish_tile(output, panel, group.first + i, rows, tile);
      }
    }
  });
}

void CpuBackend::experts(Rows x, const std::optional<Norm>& norm, std::span<const Expert> experts,
                         GateFunction function, const Routes& routes, float scale, bool accumulate, Rows out) {
  group_by_expert(routes, experts.size());
  size_t widest = 0;
  for (const ExpertGroup& group : groups_) widest = std::max(widest, experts[group.expert].gate->rows());
  const size_t places = group_rows_.size(), hidden_stride = (widest + 15) / 16 * 16,
               out_stride = (out.width + 15) / 16 * 16;
  const Rows hidden{reinterpret_cast<float*>(grown(hidden_, places * hidden_stride * sizeof(float))), places, widest,
                    hidden_stride};
  const Rows outputs{reinterpret_cast<float*>(grown(expert_outputs_, places * out_stride * sizeof(float))), places,
                     out.width, out_stride};
  gate_and_up(x, norm, experts, function, hidden);
  down(hidden, experts, outputs);
  team_.for_each(x.count, kOwnRows, [&](size_t first, size_t last) {
    std::vector<const float*> rows(routes.used);
    for (size_t r = first; r < last; ++r) {
      for (size_t i = 0; i < routes.used; ++i) {
        rows[i] = outputs.row(static_cast<size_t>(places_[r * routes.used + i]));
      }
      kernels_->combine(rows.data(), routes.weights + r * routes.used, routes.used, out.width, scale, accumulate,
                        out.row(r));
    }
  });
}

}  // namespace terrace::compute
