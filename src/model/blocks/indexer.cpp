#include "model/blocks/indexer.h"

namespace terrace::model {

using compute::Rows;

Result<IndexerShape> load_indexer_shape(const Loader& loader, size_t ratio) {
  IndexerShape shape;
  shape.ratio = ratio;
  if (ratio > 64 || 64 % ratio != 0)
    return fail("'{}.attention.compress_ratios' has {}, possible are the divisors of 64", loader.architecture(), ratio);
  TERRACE_TRY(shape.hidden, loader.count("embedding_length", size_t{1} << 20));
  TERRACE_TRY(shape.heads, loader.count("attention.indexer.head_count", 1024));
  TERRACE_TRY(shape.size, loader.count("attention.indexer.key_length", compute::kMaximumIndexSize));
  TERRACE_TRY(const size_t positions, loader.count("attention.indexer.top_k", 65536));
  TERRACE_TRY(shape.epsilon, loader.epsilon());
  shape.blocks = positions / ratio;
  if (shape.blocks == 0)
    return fail("'{}.attention.indexer.top_k' is {}, less than one block of {}", loader.architecture(), positions,
                ratio);
  return shape;
}

Result<Indexer> Indexer::load(Loader& loader, const IndexerShape& shape, size_t layer) {
  Indexer indexer;
  indexer.shape_ = shape;
  indexer.layer_ = layer;
  loader.note_indexer(layer);
  const std::string prefix = fmt::format("blk.{}.indexer.", layer);
  TERRACE_TRY(indexer.q_, loader.matrix(prefix + "q_proj.weight", shape.heads * shape.size, shape.hidden));
  TERRACE_TRY(indexer.k_, loader.matrix(prefix + "k_proj.weight", shape.size, shape.hidden));
  TERRACE_TRY(indexer.q_norm_, loader.vector(prefix + "q_norm.weight", shape.size));
  TERRACE_TRY(indexer.k_norm_, loader.vector(prefix + "k_norm.weight", shape.size));
  compute::BlockIndex index;
  index.size = shape.size;
  index.ratio = shape.ratio;
  indexer.page_offset_ = loader.reserve_page(index.page_bytes());
  indexer.state_offset_ = loader.reserve_state(index.state_bytes());
  return indexer;
}

size_t Indexer::workspace() const {
  const auto padded = Workspace::padded;
  return padded(q_->rows()) + padded(k_->rows()) + padded(shape_.blocks) + padded(1);
}

compute::BlockIndex Indexer::begin(const StepContext& context, size_t rows, Rows turns, compute::Rope rope) const {
  compute::BlockIndex index;
  index.queries = context.work.rows(rows, q_->rows());
  index.keys = context.work.rows(rows, k_->rows());
  index.heads = shape_.heads;
  index.size = shape_.size;
  index.query_norm = {q_norm_.data(), shape_.epsilon};
  index.key_norm = {k_norm_.data(), shape_.epsilon};
  index.pairs = shape_.pairs;
  index.turns = turns;
  index.rope = rope;
  index.ratio = shape_.ratio;
  index.page_offset = page_offset_;
  index.state_offset = state_offset_;
  return index;
}

std::array<compute::Linear, 2> Indexer::projections(const compute::BlockIndex& index) const {
  return {compute::Linear{q_.get(), nullptr, index.queries}, compute::Linear{k_.get(), nullptr, index.keys}};
}

compute::Selection Indexer::select(const StepContext& context, const compute::BlockIndex& index) const {
  const size_t rows = index.queries.count;
  compute::Selection selection{shape_.ratio, shape_.blocks};
  selection.blocks = reinterpret_cast<int32_t*>(context.work.rows(rows, shape_.blocks).data);
  selection.counts = reinterpret_cast<int32_t*>(context.work.rows(rows, 1).data);
  context.backend.select_blocks(index, context.spans, selection);
  if (context.observer) context.observer->selection(layer_, selection, rows);
  return selection;
}

}  // namespace terrace::model
