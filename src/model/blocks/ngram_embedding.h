// Hashed n-gram embeddings that are added to the residual streams of one layer. Their table is larger than memory and
// stays on disk. Source: transformers' modeling_qwen4_exp.py (Qwen4ExpTextPLELayer).
#pragma once

#include "memory/row_table.h"
#include "model/blocks/block.h"

namespace terrace::model {

class NgramEmbedding {
 public:
  /// Loads `per_layer_token_embd` as a table on disk and `blk.<layer>.ple_*`.
  static Result<NgramEmbedding> load(Loader& loader, size_t hidden, size_t streams, float epsilon, size_t layer);

  size_t workspace() const;  ///< floats per row
  /// Reads the table's rows for a step from disk, before anything of the step has changed a state.
  Status look_up(std::span<const int32_t> tokens, std::span<const compute::RowSpan> spans);
  /// Adds the embeddings that look_up() read to the streams.
  void forward(const StepContext& context, std::span<const int32_t> tokens, compute::Rows streams) const;

 private:
  Status load_hash(Loader& loader);
  void hash(std::span<const uint64_t> context, uint64_t* rows) const;
  void remember(std::span<const int32_t> tokens, const compute::RowSpan& span) const;
  size_t heads() const { return sizes_.size(); }

  size_t hidden_ = 0, streams_ = 0, kernel_ = 0;
  float epsilon_ = 0;
  size_t ngram_size_ = 0;         ///< tokens of the longest n-gram
  size_t heads_per_ngram_ = 0;    ///< table rows per length
  uint64_t end_of_sequence_ = 0;  ///< the token that n-grams do not reach across
  std::vector<uint64_t> multipliers_, sizes_, offsets_;
  std::unique_ptr<memory::RowTable> table_;
  std::vector<float> key_norm_, query_norm_, convolution_norm_, taps_;
  MatrixPtr key_, value_;
  size_t tokens_offset_ = 0, tail_offset_ = 0;
  Workspace rows_;
  compute::Rows embeddings_;
};

}  // namespace terrace::model
