// The indexer of sparse attention layers: small queries and keys that choose which blocks of positions a row attends
// to.
#pragma once

#include <array>

#include "model/blocks/block.h"

namespace terrace::model {

struct IndexerShape {
  size_t hidden = 0;
  size_t heads = 0;
  size_t size = 0;    ///< of a query and of the key
  size_t ratio = 0;   ///< positions per block
  size_t blocks = 0;  ///< chosen per row at most
  compute::RopePairs pairs = compute::RopePairs::halves;
  float epsilon = 0;
};
/// Reads `attention.indexer.*` for layers with the given ratio.
Result<IndexerShape> load_indexer_shape(const Loader& loader, size_t ratio);

class Indexer {
 public:
  /// Loads `blk.<layer>.indexer.*`; pooled keys take place in the page, the open block's in the sequence's state.
  static Result<Indexer> load(Loader& loader, const IndexerShape& shape, size_t layer);

  size_t workspace() const;  ///< floats per row
  /// The index for a step's rows, whose queries and keys the caller projects with `projections` along with its own.
  compute::BlockIndex begin(const StepContext& context, size_t rows, compute::Rows turns, compute::Rope rope) const;
  std::array<compute::Linear, 2> projections(const compute::BlockIndex& index) const;
  /// Chooses the blocks, after the projections.
  compute::Selection select(const StepContext& context, const compute::BlockIndex& index) const;

 private:
  IndexerShape shape_;
  size_t layer_ = 0, page_offset_ = 0, state_offset_ = 0;
  std::vector<float> q_norm_, k_norm_;
  MatrixPtr q_, k_;
};

}  // namespace terrace::model
