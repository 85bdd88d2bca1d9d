// What family files read a model through: typed metadata under the architecture's prefix, and checked tensors.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"

namespace terrace::model {

using MatrixPtr = std::unique_ptr<compute::Matrix>;

class Loader {
 public:
  Loader(const format::GgufFile& file, compute::Backend& backend, const LoadOptions& options, std::string architecture)
      : file_(file), backend_(backend), options_(options), architecture_(std::move(architecture)) {}

  compute::Backend& backend() const { return backend_; }
  const LoadOptions& options() const { return options_; }
  const std::string& architecture() const { return architecture_; }
  const format::GgufMetadata& metadata() const { return file_.metadata(); }

  /// The metadata value `<architecture>.<key>` as a count between 1 and `largest`.
  Result<size_t> count(std::string_view key, size_t largest) const;
  Result<size_t> count_or(std::string_view key, size_t fallback, size_t largest) const;
  /// As count(), and 0 where it is 0 or missing.
  Result<size_t> count_or_zero(std::string_view key, size_t largest) const;
  Result<float> number_or(std::string_view key, double fallback) const;
  Result<std::string> string_or(std::string_view key, std::string fallback) const;
  Result<bool> flag_or(std::string_view key, bool fallback) const;
  bool has_key(std::string_view key) const { return metadata().contains(full_key(key)); }
  /// As count_or() for a key that is one number for all layers or an array with one per layer; no fallback: required.
  Result<size_t> count_of_layer(std::string_view key, size_t layer, std::optional<size_t> fallback,
                                size_t largest) const;
  /// The integers (or booleans) of an array key; at least `size`.
  Result<std::vector<int64_t>> integers(std::string_view key, size_t size) const;
  Result<float> epsilon() const;  ///< of the RMS norms
  /// Layers before the draft head's, which `block_count` includes where the file has one.
  Result<size_t> trunk_layers() const;
  /// Whether a draft head is to be loaded; its layer is the one after the trunk's. From here on nothing counts as read
  /// per token.
  bool begin_draft_head();
  /// Notes the next rope of the model, and checks that heads of `size` can turn by the rope of that index.
  void note_rope(size_t dimensions) { rope_dimensions_.push_back(dimensions); }
  Status check_rope(size_t rope, size_t size) const;

  bool has(std::string_view tensor) const { return look_up(tensor) != nullptr; }
  /// The matrix of that name, with `rows` outputs of `inputs` weights; 0 rows: as many as the file has.
  Result<MatrixPtr> matrix(const std::string& name, size_t rows, size_t inputs);
  /// A matrix of some of a tensor's rows, in the order given.
  Result<MatrixPtr> matrix_of_rows(const std::string& name, size_t rows, size_t inputs, std::span<const size_t> chosen);
  /// A matrix of some of a tensor's columns, which must begin and end at whole blocks.
  Result<MatrixPtr> matrix_of_columns(const std::string& name, size_t rows, size_t all_inputs, size_t first,
                                      size_t inputs);
  /// A matrix of one row, which files store as a vector.
  Result<MatrixPtr> row_matrix(const std::string& name, size_t inputs);
  /// The matrices of a 3-dimensional tensor, one per expert, of which a token reads the given share. `first_row` and
  /// `all_rows` cut rows out of each (all_rows 0: there are no others).
  Result<std::vector<MatrixPtr>> matrices(const std::string& name, size_t count, size_t rows, size_t inputs,
                                          double share, size_t first_row = 0, size_t all_rows = 0);
  /// The output matrix, whose bytes are counted apart.
  Result<MatrixPtr> head(const std::string& name, size_t rows, size_t inputs);
  /// The same for a table of which a token reads one row.
  Result<MatrixPtr> table(const std::string& name, size_t rows, size_t inputs);
  /// A table of rows of `width` that stays on disk.
  Result<std::unique_ptr<memory::RowTable>> row_table(const std::string& name, size_t width);
  /// The vector of that name in floats.
  Result<std::vector<float>> vector(const std::string& name, size_t size);
  /// The taps of a convolution of `channels` on their own, as [kernel][channels]; files have them by channel.
  Result<std::vector<float>> taps(const std::string& name, size_t channels, size_t kernel);
  /// As vector(), or empty when the file has no such tensor.
  Result<std::vector<float>> vector_or_none(const std::string& name, size_t size);

  /// Counts a table among what each token reads, since it is the output matrix, too.
  void count_head(const compute::Matrix& matrix, const std::string& name);

  /// A place in the page for a layer's keys and values.
  compute::KvLayer reserve_kv(size_t heads, size_t key_size, size_t value_size);
  /// A place of so many bytes in a page, or in a sequence's state; returns its offset.
  size_t reserve_page(size_t bytes);
  size_t reserve_state(size_t bytes);
  /// A place in the state for the inputs that a convolution still needs: (kernel - 1) * dilation rows of `channels`.
  size_t reserve_tail(size_t channels, size_t kernel, size_t dilation = 1);

  /// Notes that a layer has a router that chooses `used` experts, or an indexer.
  void note_router(size_t layer, size_t used) { routers_[layer] = used; }
  void note_indexer(size_t layer) { indexers_.insert(layer); }

  /// What a model says of itself, once all its parts are loaded.
  Result<ModelInfo> info(size_t layers, size_t hidden) const;

 private:
  /// The file of a tensor: the model's own, or the draft head's for the layer after the trunk.
  const format::GgufFile& file_of(std::string_view name) const;
  const format::GgufTensor* look_up(std::string_view name) const { return file_of(name).find(name); }
  void count_weights(uint64_t& part, uint64_t bytes, uint64_t weights);
  Result<const format::GgufTensor*> find(const std::string& name) const;
  Result<const format::GgufTensor*> find(const std::string& name, std::span<const uint64_t> shape) const;
  Result<MatrixPtr> place(const format::GgufTensor& tensor, compute::MatrixView view) const;
  void finish(const format::GgufTensor& tensor);
  std::string full_key(std::string_view key) const { return architecture_ + "." + std::string(key); }

  const format::GgufFile& file_;
  compute::Backend& backend_;
  const LoadOptions& options_;
  std::string architecture_;
  uint64_t placed_bytes_ = 0;
  TokenBytes token_bytes_;
  bool counting_ = true;
  std::vector<size_t> rope_dimensions_;
  std::map<size_t, size_t> routers_;
  std::set<size_t> indexers_;
  size_t page_bytes_ = 0;
  size_t state_bytes_ = 0;
  uint64_t token_weights_ = 0;
};

}  // namespace terrace::model
