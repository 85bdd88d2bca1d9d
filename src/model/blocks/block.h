// What the blocks of a model have in common.
#pragma once

#include <memory>
#include <span>

#include "model/loader.h"
#include "model/model.h"
#include "model/rope_scaling.h"
#include "model/workspace.h"

namespace terrace::model {

/// A rope and what it does to each row of a step.
struct Turn {
  compute::Rope rope;
  compute::Rows rows;
};

/// The turns of a step, one per rope of a model.
class Turns {
 public:
  static size_t workspace(std::span<const RopeFrequencies> ropes) {  ///< floats per row
    size_t width = 0;
    for (const RopeFrequencies& rope : ropes) width += Workspace::padded(2 * rope.frequencies.size());
    return width;
  }
  void make(compute::Backend& backend, Workspace& work, std::span<const RopeFrequencies> ropes,
            std::span<const compute::RowSpan> spans, size_t rows) {
    turns_.clear();
    for (const RopeFrequencies& rope : ropes) {
      turns_.push_back({rope.view(), work.rows(rows, 2 * rope.frequencies.size())});
      backend.turns(rope.view(), spans, turns_.back().rows);
    }
  }
  std::span<const Turn> view() const { return turns_; }

 private:
  std::vector<Turn> turns_;
};

/// What the blocks of one step work with.
struct StepContext {
  compute::Backend& backend;
  Workspace& work;  ///< has room for the block's workspace()
  std::span<const compute::RowSpan> spans;
  std::span<const Turn> turns;  ///< one per rope of the model
  StepObserver* observer = nullptr;
  compute::Rows layer_embeddings;  ///< of all layers, where a model has them
};

/// How a block's result reaches its output.
struct Residual {
  bool accumulate = true;  ///< added to the output, else it replaces it
  float scale = 1;
};

/// A part of a layer: a token mixer or a feed-forward, with the norm before it.
class Block {
 public:
  virtual ~Block() = default;
  virtual size_t workspace() const = 0;  ///< floats per row
  /// out (+)= scale * block(norm(x)). `out` may be x.
  virtual void forward(const StepContext& context, compute::Rows x, compute::Rows out) const = 0;
};
using BlockPtr = std::unique_ptr<Block>;

/// The RMS norm with that gain, or none where there is no gain.
inline std::optional<compute::Norm> norm_or_none(const std::vector<float>& gain, float epsilon) {
  if (gain.empty()) return std::nullopt;
  return compute::Norm{gain.data(), epsilon};
}

inline const float* data_or_null(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }

}  // namespace terrace::model
