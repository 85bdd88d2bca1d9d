#include "model/blocks/attention.h"

#include <cmath>

namespace terrace::model {

using compute::Rows;

namespace {
constexpr size_t kMaximumHeadSize = 512;
const float* data_or_null(const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); }
}  // namespace

Result<AttentionShape> load_attention_shape(const Loader& loader, compute::RopePairs pairs) {
  AttentionShape shape;
  shape.pairs = pairs;
  TERRACE_TRY(shape.hidden, loader.count("embedding_length", size_t{1} << 20));
  TERRACE_TRY(shape.heads, loader.count("attention.head_count", 4096));
  TERRACE_TRY(shape.kv_heads, loader.count_or("attention.head_count_kv", shape.heads, 4096));
  TERRACE_TRY(shape.key_size, loader.count_or("attention.key_length", shape.hidden / shape.heads, kMaximumHeadSize));
  TERRACE_TRY(shape.value_size,
              loader.count_or("attention.value_length", shape.hidden / shape.heads, kMaximumHeadSize));
  TERRACE_TRY(shape.epsilon, loader.number_or("attention.layer_norm_rms_epsilon", 1e-5));
  if (shape.epsilon < 0)
    return fail("'{}.attention.layer_norm_rms_epsilon' is {}, it must not be negative", loader.architecture(),
                shape.epsilon);
  if (shape.heads % shape.kv_heads != 0)
    return fail("{} heads cannot share {} key/value heads evenly", shape.heads, shape.kv_heads);
  if (shape.key_size < 1 || shape.key_size > kMaximumHeadSize || shape.value_size < 1 ||
      shape.value_size > kMaximumHeadSize) {
    return fail("heads of {} keys and {} values are not possible (1 to {} are)", shape.key_size, shape.value_size,
                kMaximumHeadSize);
  }
  shape.scale = 1.0F / std::sqrt(static_cast<float>(shape.key_size));
  return shape;
}

Result<AttentionBlock> AttentionBlock::load(Loader& loader, const AttentionShape& shape, size_t layer,
                                            size_t& page_bytes) {
  AttentionBlock block;
  block.shape_ = shape;
  block.kv_ = {loader.options().half_kv, shape.kv_heads, shape.key_size, shape.value_size};
  block.kv_.key_offset = page_bytes;
  block.kv_.value_offset = page_bytes + shape.kv_heads * block.kv_.key_bytes();
  page_bytes += block.kv_.bytes();
  const std::string prefix = fmt::format("blk.{}.attn_", layer);
  const size_t q = shape.heads * shape.key_size, k = shape.kv_heads * shape.key_size,
               v = shape.kv_heads * shape.value_size;
  TERRACE_TRY(block.norm_, loader.vector(prefix + "norm.weight", shape.hidden));
  TERRACE_TRY(block.q_, loader.matrix(prefix + "q.weight", q, shape.hidden));
  TERRACE_TRY(block.k_, loader.matrix(prefix + "k.weight", k, shape.hidden));
  TERRACE_TRY(block.v_, loader.matrix(prefix + "v.weight", v, shape.hidden));
  TERRACE_TRY(block.out_, loader.matrix(prefix + "output.weight", shape.hidden, shape.heads * shape.value_size));
  TERRACE_TRY(block.q_bias_, loader.vector_or_none(prefix + "q.bias", q));
  TERRACE_TRY(block.k_bias_, loader.vector_or_none(prefix + "k.bias", k));
  TERRACE_TRY(block.v_bias_, loader.vector_or_none(prefix + "v.bias", v));
  TERRACE_TRY(block.out_bias_, loader.vector_or_none(prefix + "output.bias", shape.hidden));
  return block;
}

size_t AttentionBlock::workspace(const AttentionShape& shape) {
  const auto padded = Workspace::padded;
  return padded(shape.heads * shape.key_size) + padded(shape.kv_heads * shape.key_size) +
         padded(shape.kv_heads * shape.value_size) + padded(shape.heads * shape.value_size);
}

void AttentionBlock::forward(compute::Backend& backend, Workspace& work, Rows x, Rows turns,
                             std::span<const compute::RowSpan> spans) const {
  compute::Attention attention;
  attention.queries = work.rows(x.count, shape_.heads * shape_.key_size);
  attention.keys = work.rows(x.count, shape_.kv_heads * shape_.key_size);
  attention.values = work.rows(x.count, shape_.kv_heads * shape_.value_size);
  attention.out = work.rows(x.count, shape_.heads * shape_.value_size);
  attention.heads = shape_.heads;
  attention.kv = &kv_;
  attention.pairs = shape_.pairs;
  attention.turns = turns;
  attention.scale = shape_.scale;
  const compute::Linear projections[] = {{q_.get(), data_or_null(q_bias_), attention.queries},
                                         {k_.get(), data_or_null(k_bias_), attention.keys},
                                         {v_.get(), data_or_null(v_bias_), attention.values}};
  backend.linear(x, compute::Norm{norm_.data(), shape_.epsilon}, projections);
  backend.attention(attention, spans);
  const compute::Linear output[] = {{out_.get(), data_or_null(out_bias_), x, /*accumulate=*/true}};
  backend.linear(attention.out, std::nullopt, output);
}

}  // namespace terrace::model
