#include "model/blocks/attention.h"

#include <cmath>

namespace terrace::model {

using compute::Rows;

Result<AttentionShape> load_attention_shape(const Loader& loader, compute::RopePairs pairs, size_t layer) {
  AttentionShape shape;
  shape.pairs = pairs;
  TERRACE_TRY(shape.hidden, loader.count("embedding_length", size_t{1} << 20));
  TERRACE_TRY(shape.heads, loader.count_of_layer("attention.head_count", layer, std::nullopt, 4096));
  TERRACE_TRY(shape.kv_heads, loader.count_of_layer("attention.head_count_kv", layer, shape.heads, 4096));
  TERRACE_TRY(shape.key_size, loader.count_or("attention.key_length", shape.hidden / shape.heads, kMaximumHeadSize));
  TERRACE_TRY(shape.value_size,
              loader.count_or("attention.value_length", shape.hidden / shape.heads, kMaximumHeadSize));
  TERRACE_TRY(shape.epsilon, loader.epsilon());
  TERRACE_TRY(shape.scale, loader.number_or("attention.scale", 1.0 / std::sqrt(static_cast<double>(shape.key_size))));
  if (shape.heads % shape.kv_heads != 0)
    return fail("{} heads cannot share {} key/value heads evenly", shape.heads, shape.kv_heads);
  if (shape.key_size < 1 || shape.key_size > kMaximumHeadSize || shape.value_size < 1 ||
      shape.value_size > kMaximumHeadSize) {
    return fail("heads of {} keys and {} values are not possible (1 to {} are)", shape.key_size, shape.value_size,
                kMaximumHeadSize);
  }
  return shape;
}

Result<std::unique_ptr<AttentionBlock>> AttentionBlock::load(Loader& loader, const AttentionShape& shape,
                                                             size_t layer) {
  auto block = std::make_unique<AttentionBlock>();
  block->shape_ = shape;
  if (shape.rope != kNoRope) TERRACE_CHECK(loader.check_rope(shape.rope, shape.key_size));
  const std::string prefix = fmt::format("blk.{}.attn_", layer);
  const size_t q = shape.heads * (shape.key_size + (shape.gated ? shape.value_size : 0));
  if (shape.normed) {
    TERRACE_TRY(block->norm_, loader.vector(prefix + "norm.weight", shape.hidden));
  }
  TERRACE_TRY(block->q_, loader.matrix(prefix + "q.weight", q, shape.hidden));
  TERRACE_TRY(block->out_, loader.matrix(prefix + "output.weight", shape.hidden, shape.heads * shape.value_size));
  TERRACE_TRY(block->q_norm_, loader.vector_or_none(prefix + "q_norm.weight", shape.key_size));
  TERRACE_TRY(block->q_bias_, loader.vector_or_none(prefix + "q.bias", q));
  TERRACE_TRY(block->out_bias_, loader.vector_or_none(prefix + "output.bias", shape.hidden));
  TERRACE_TRY(block->sinks_, loader.vector_or_none(prefix + "sinks.weight", shape.heads));
  if (shape.shared_kv) {
    block->kv_ = *shape.shared_kv;
    if (block->kv_.heads != shape.kv_heads || block->kv_.key_size != shape.key_size ||
        block->kv_.value_size != shape.value_size)
      return fail("layer {} cannot share keys and values of another size", layer);
  } else {
    TERRACE_CHECK(block->load_keys_and_values(loader, prefix));
  }
  if (shape.indexer) {
    TERRACE_CHECK(loader.check_rope(shape.rope, shape.indexer->size));
    TERRACE_TRY(block->indexer_, Indexer::load(loader, *shape.indexer, layer));
  }
  return block;
}

Status AttentionBlock::load_keys_and_values(Loader& loader, const std::string& prefix) {
  const size_t k = shape_.kv_heads * shape_.key_size, v = shape_.kv_heads * shape_.value_size;
  kv_ = loader.reserve_kv(shape_.kv_heads, shape_.key_size, shape_.value_size);
  TERRACE_TRY(k_, loader.matrix(prefix + "k.weight", k, shape_.hidden));
  TERRACE_TRY(k_norm_, loader.vector_or_none(prefix + "k_norm.weight", shape_.key_size));
  TERRACE_TRY(k_bias_, loader.vector_or_none(prefix + "k.bias", k));
  if (shape_.keys_as_values) {
    if (k != v) return fail("keys of {} cannot be values of {}", shape_.key_size, shape_.value_size);
    return Done{};
  }
  TERRACE_TRY(v_, loader.matrix(prefix + "v.weight", v, shape_.hidden));
  TERRACE_TRY(v_bias_, loader.vector_or_none(prefix + "v.bias", v));
  return Done{};
}

size_t AttentionBlock::workspace() const {
  size_t floats = Workspace::padded(out_->inputs()) + (indexer_ ? indexer_->workspace() : 0);
  for (const MatrixPtr* matrix : {&q_, &k_, &v_}) floats += *matrix ? Workspace::padded((*matrix)->rows()) : 0;
  return floats;
}

void AttentionBlock::forward(const StepContext& context, Rows x, Rows out) const {
  compute::Attention attention;
  attention.queries = context.work.rows(x.count, q_->rows());
  if (k_) attention.keys = context.work.rows(x.count, k_->rows());
  if (v_) attention.values = context.work.rows(x.count, v_->rows());
  attention.out = context.work.rows(x.count, out_->inputs());
  attention.heads = shape_.heads;
  attention.kv = &kv_;
  attention.query_norm = norm_or_none(q_norm_, shape_.epsilon);
  attention.key_norm = norm_or_none(k_norm_, shape_.epsilon);
  if (shape_.value_norm) attention.value_norm = compute::Norm{nullptr, shape_.epsilon};
  attention.pairs = shape_.pairs;
  if (shape_.rope != kNoRope) attention.turns = context.turns[shape_.rope].rows;
  attention.scale = shape_.scale;
  attention.window = shape_.window;
  attention.gated = shape_.gated;
  attention.sinks = data_or_null(sinks_);
  std::optional<compute::BlockIndex> index;
  compute::Selection selection;
  std::vector<compute::Linear> projections = {{q_.get(), data_or_null(q_bias_), attention.queries}};
  if (k_) projections.push_back({k_.get(), data_or_null(k_bias_), attention.keys});
  if (v_) projections.push_back({v_.get(), data_or_null(v_bias_), attention.values});
  if (indexer_) {
    const Turn& turn = context.turns[shape_.rope];
    index = indexer_->begin(context, x.count, turn.rows, turn.rope);
    for (const compute::Linear& projection : indexer_->projections(*index)) projections.push_back(projection);
  }
  context.backend.linear(x, norm_or_none(norm_, shape_.epsilon), projections);
  if (indexer_) {
    selection = indexer_->select(context, *index);
    attention.selection = &selection;
  }
  context.backend.attention(attention, context.spans);
  const compute::Linear output[] = {
      {out_.get(), data_or_null(out_bias_), out, shape_.residual.accumulate, shape_.residual.scale}};
  context.backend.linear(attention.out, std::nullopt, output);
}

}  // namespace terrace::model
