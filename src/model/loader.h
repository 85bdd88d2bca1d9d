// What family files read a model through: typed metadata under the architecture's prefix, and checked tensors.
#pragma once

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
  Result<float> number_or(std::string_view key, double fallback) const;
  Result<std::string> string_or(std::string_view key, std::string fallback) const;

  bool has(std::string_view tensor) const { return file_.find(tensor) != nullptr; }
  /// The matrix of that name, with `rows` outputs of `inputs` weights; 0 rows: as many as the file has.
  Result<MatrixPtr> matrix(const std::string& name, size_t rows, size_t inputs);
  /// The same for a table of which a token reads one row.
  Result<MatrixPtr> table(const std::string& name, size_t rows, size_t inputs);
  /// The vector of that name in floats.
  Result<std::vector<float>> vector(const std::string& name, size_t size);
  /// As vector(), or empty when the file has no such tensor.
  Result<std::vector<float>> vector_or_none(const std::string& name, size_t size);

  /// File bytes and weights of all matrices and vectors loaded so far, tables aside.
  uint64_t token_bytes() const { return token_bytes_; }
  uint64_t token_weights() const { return token_weights_; }
  /// Counts a table among what each token reads, since it is the output matrix, too.
  void count(const compute::Matrix& matrix, const std::string& name);

 private:
  Result<const format::GgufTensor*> find(const std::string& name) const;
  std::string full_key(std::string_view key) const { return architecture_ + "." + std::string(key); }

  const format::GgufFile& file_;
  compute::Backend& backend_;
  const LoadOptions& options_;
  std::string architecture_;
  uint64_t placed_bytes_ = 0;
  uint64_t token_bytes_ = 0;
  uint64_t token_weights_ = 0;
};

}  // namespace terrace::model
