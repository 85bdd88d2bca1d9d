#include "model/blocks/ngram_embedding.h"

namespace terrace::model {

using compute::Rows;
using compute::RowSpan;

namespace {

/// The latest tokens of a sequence, the last one first, each plus one: 0 stands for none.
uint64_t* latest_tokens(const RowSpan& span, size_t offset) { return reinterpret_cast<uint64_t*>(span.state + offset); }

Result<std::vector<uint64_t>> unsigned_integers(const Loader& loader, std::string_view key, size_t size) {
  TERRACE_TRY(const auto values, loader.integers(key, size));
  for (const int64_t value : values) {
    if (value < 0) return fail("the metadata key '{}.{}' has {}", loader.architecture(), key, value);
  }
  return std::vector<uint64_t>(values.begin(), values.begin() + static_cast<ptrdiff_t>(size));
}

}  // namespace

Status NgramEmbedding::load_hash(Loader& loader) {
  TERRACE_TRY(ngram_size_, loader.count("ple.ngram_size", 16));
  TERRACE_TRY(heads_per_ngram_, loader.count("ple.heads_per_ngram", 256));
  TERRACE_TRY(end_of_sequence_, loader.metadata().integer(loader.architecture() + ".ple.eos_token_id"));
  if (ngram_size_ < 2)
    return fail("'{}.ple.ngram_size' is {}, at least 2 is expected", loader.architecture(), ngram_size_);
  const size_t heads = (ngram_size_ - 1) * heads_per_ngram_;
  TERRACE_TRY(multipliers_, unsigned_integers(loader, "ple.layer_multipliers", ngram_size_));
  TERRACE_TRY(sizes_, unsigned_integers(loader, "ple.head_vocab_sizes", heads));
  TERRACE_TRY(offsets_, unsigned_integers(loader, "ple.head_offsets", heads));
  TERRACE_TRY(const size_t width, loader.count("embedding_length_per_layer_input", size_t{1} << 20));
  TERRACE_TRY(table_, loader.row_table("per_layer_token_embd.weight", width));
  for (size_t head = 0; head < heads; ++head) {
    if (sizes_[head] == 0 || sizes_[head] > table_->rows() || offsets_[head] > table_->rows() - sizes_[head])
      return fail("head {} of the n-gram table has rows {} to {}, but the table has {}", head, offsets_[head],
                  offsets_[head] + sizes_[head], table_->rows());
  }
  return Done{};
}

Result<NgramEmbedding> NgramEmbedding::load(Loader& loader, size_t hidden, size_t streams, float epsilon,
                                            size_t layer) {
  NgramEmbedding ngram;
  ngram.hidden_ = hidden;
  ngram.streams_ = streams;
  ngram.epsilon_ = epsilon;
  TERRACE_CHECK(ngram.load_hash(loader));
  TERRACE_TRY(ngram.kernel_, loader.count("ple.conv_kernel", 64));
  const std::string prefix = fmt::format("blk.{}.ple_", layer);
  const size_t width = streams * hidden, inputs = ngram.heads() * ngram.table_->width();
  TERRACE_TRY(ngram.key_, loader.matrix(prefix + "key.weight", width, inputs));
  TERRACE_TRY(ngram.value_, loader.matrix(prefix + "value.weight", hidden, inputs));
  TERRACE_TRY(ngram.key_norm_, loader.vector(prefix + "norm_key.weight", width));
  TERRACE_TRY(ngram.query_norm_, loader.vector(prefix + "norm_query.weight", width));
  TERRACE_TRY(ngram.convolution_norm_, loader.vector(prefix + "norm_conv.weight", width));
  TERRACE_TRY(ngram.taps_, loader.taps(prefix + "conv1d.weight", width, ngram.kernel_));
  ngram.tokens_offset_ = loader.reserve_state((ngram.ngram_size_ - 1) * sizeof(uint64_t));
  ngram.tail_offset_ = loader.reserve_tail(width, ngram.kernel_, ngram.ngram_size_);
  return ngram;
}

size_t NgramEmbedding::workspace() const {
  return 4 * Workspace::padded(streams_ * hidden_) + Workspace::padded(hidden_);
}

/// The table rows for a token and its predecessors, context[0] being the token itself.
void NgramEmbedding::hash(std::span<const uint64_t> context, uint64_t* rows) const {
  uint64_t mixed = context[0] * multipliers_[0];
  for (size_t length = 2; length <= ngram_size_; ++length) {
    mixed ^= context[length - 1] * multipliers_[length - 1];
    for (size_t head = (length - 2) * heads_per_ngram_; head < (length - 1) * heads_per_ngram_; ++head)
      *rows++ = mixed % sizes_[head] + offsets_[head];
  }
}

Status NgramEmbedding::look_up(std::span<const int32_t> tokens, std::span<const RowSpan> spans) {
  rows_.begin(tokens.size() * Workspace::padded(heads() * table_->width()));
  embeddings_ = rows_.rows(tokens.size(), heads() * table_->width());
  std::vector<uint64_t> rows(tokens.size() * heads()), context(ngram_size_);
  for (const RowSpan& span : spans) {
    const uint64_t* before = latest_tokens(span, tokens_offset_);
    for (size_t r = 0; r < span.rows; ++r) {
      context[0] = static_cast<uint64_t>(tokens[span.first_row + r]);
      bool cut = false;
      for (size_t back = 1; back < ngram_size_; ++back) {
        const uint64_t token =
            back <= r ? static_cast<uint64_t>(tokens[span.first_row + r - back]) + 1 : before[back - r - 1];
        cut = cut || token == 0 || token - 1 == end_of_sequence_;
        context[back] = cut ? end_of_sequence_ : token - 1;
      }
      hash(context, rows.data() + (span.first_row + r) * heads());
    }
  }
  table_->prefetch(rows);
  for (size_t r = 0; r < tokens.size(); ++r)
    TERRACE_CHECK(table_->read(std::span(rows).subspan(r * heads(), heads()), embeddings_.row(r)));
  return Done{};
}

void NgramEmbedding::remember(std::span<const int32_t> tokens, const RowSpan& span) const {
  uint64_t* latest = latest_tokens(span, tokens_offset_);
  for (size_t r = 0; r < span.rows; ++r) {
    for (size_t i = ngram_size_ - 2; i > 0; --i) latest[i] = latest[i - 1];
    latest[0] = static_cast<uint64_t>(tokens[span.first_row + r]) + 1;
  }
}

void NgramEmbedding::forward(const StepContext& context, std::span<const int32_t> tokens, Rows streams) const {
  const size_t rows = streams.count, width = streams.width;
  const Rows keys = context.work.rows(rows, width), values = context.work.rows(rows, hidden_),
             gated = context.work.rows(rows, width);
  const compute::Linear projections[] = {{key_.get(), nullptr, keys}, {value_.get(), nullptr, values}};
  context.backend.linear(embeddings_, std::nullopt, projections);
  const auto norm = [&](const std::vector<float>& gain) { return compute::Norm{gain.data(), epsilon_, streams_}; };
  context.backend.gate_streams(keys, norm(key_norm_), streams, norm(query_norm_), values, gated);
  compute::Convolution convolution;
  convolution.x = context.work.rows(rows, width);
  convolution.out = context.work.rows(rows, width);
  convolution.taps = taps_.data();
  convolution.kernel = kernel_;
  convolution.dilation = ngram_size_;
  convolution.activation = compute::Activation::silu;
  convolution.state_offset = tail_offset_;
  context.backend.normalize(gated, norm(convolution_norm_), convolution.x);
  context.backend.convolution(convolution, context.spans);
  context.backend.add(gated, std::nullopt, 1, convolution.out);
  context.backend.add(convolution.out, std::nullopt, 1, streams);
  for (const RowSpan& span : context.spans) remember(tokens, span);
}

}  // namespace terrace::model
