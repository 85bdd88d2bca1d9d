// What a model decides inside while it runs: for `terrace logits --internals` and for tests.
#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "model/model.h"

namespace terrace::model {

/// Records router choices and block selections of one sequence's rows, layer by layer, in position order.
class InternalsRecorder : public StepObserver {
 public:
  void routes(size_t layer, const compute::Routes& routes, size_t routed) override {
    for (size_t r = 0; r < routes.rows; ++r) {
      const size_t first = r * routes.used;
      experts_[layer].insert(experts_[layer].end(), routes.experts + first, routes.experts + first + routed);
      weights_[layer].insert(weights_[layer].end(), routes.weights + first, routes.weights + first + routed);
    }
  }
  void selection(size_t layer, const compute::Selection& selection, size_t rows) override {
    auto& all = selected_[layer];
    for (size_t r = 0; r < rows; ++r) {
      const size_t position = all.size();
      auto& row = all.emplace_back(position + 1, selection.counts[r] < 0);
      for (int32_t i = 0; i < selection.counts[r]; ++i) {
        const auto block = static_cast<size_t>(selection.blocks[r * selection.most + static_cast<size_t>(i)]);
        std::fill_n(row.begin() + static_cast<ptrdiff_t>(block * selection.ratio), selection.ratio, uint8_t{1});
      }
      std::fill(row.begin() + static_cast<ptrdiff_t>((position + 1) / selection.ratio * selection.ratio), row.end(),
                uint8_t{1});
    }
  }

  /// Per layer, the experts of each row in ascending order, and their weights.
  const std::map<size_t, std::vector<int32_t>>& experts() const { return experts_; }
  const std::map<size_t, std::vector<float>>& weights() const { return weights_; }
  /// Per layer and row: 1 for each position up to the row's own that it attends to.
  const std::map<size_t, std::vector<std::vector<uint8_t>>>& selected() const { return selected_; }

 private:
  std::map<size_t, std::vector<int32_t>> experts_;
  std::map<size_t, std::vector<float>> weights_;
  std::map<size_t, std::vector<std::vector<uint8_t>>> selected_;
};

}  // namespace terrace::model
