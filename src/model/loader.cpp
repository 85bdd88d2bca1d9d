#include "model/loader.h"

#include "format/block_type.h"

namespace terrace::model {

Result<size_t> Loader::count(std::string_view key, size_t largest) const {
  TERRACE_TRY(const uint64_t value, metadata().integer(full_key(key)));
  if (value < 1 || value > largest)
    return fail("the metadata key '{}' is {}; possible is 1 to {}", full_key(key), value, largest);
  return static_cast<size_t>(value);
}

Result<size_t> Loader::count_or(std::string_view key, size_t fallback, size_t largest) const {
  return metadata().contains(full_key(key)) ? count(key, largest) : Result<size_t>(fallback);
}

Result<float> Loader::number_or(std::string_view key, double fallback) const {
  TERRACE_TRY(const double value, metadata().number_or(full_key(key), fallback));
  if (!(value > -1e30 && value < 1e30))
    return fail("the metadata key '{}' is {}, no usable number", full_key(key), value);
  return static_cast<float>(value);
}

Result<std::string> Loader::string_or(std::string_view key, std::string fallback) const {
  return metadata().string_or(full_key(key), std::move(fallback));
}

Result<const format::GgufTensor*> Loader::find(const std::string& name) const {
  if (const format::GgufTensor* tensor = file_.find(name)) return tensor;
  return fail("the tensor '{}', which a '{}' model needs, is missing", name, architecture_);
}

Result<MatrixPtr> Loader::matrix(const std::string& name, size_t rows, size_t inputs) {
  TERRACE_TRY(auto matrix, table(name, rows, inputs));
  count(*matrix, name);
  return matrix;
}

void Loader::count(const compute::Matrix& matrix, const std::string& name) {
  token_bytes_ += file_.find(name)->data.size();
  token_weights_ += uint64_t{matrix.rows()} * matrix.inputs();
}

Result<MatrixPtr> Loader::table(const std::string& name, size_t rows, size_t inputs) {
  TERRACE_TRY(const format::GgufTensor* tensor, find(name));
  const size_t found = tensor->shape.size() == 2 ? tensor->shape[1] : 0;
  if (found == 0 || tensor->shape[0] != inputs || (rows != 0 && found != rows)) {
    return fail("the tensor '{}' is [{}], expected [{}, {}]", name, fmt::join(tensor->shape, ", "), inputs,
                rows == 0 ? found : rows);
  }
  MatrixPtr matrix = backend_.place({tensor->type, found, inputs, tensor->data});
  if (!matrix)
    return fail("the tensor '{}' is of type {}, which cannot be computed yet", name,
                format::find_block_type(tensor->type)->name);
  file_.release(*tensor);
  placed_bytes_ += tensor->data.size();
  if (options_.progress)
    options_.progress(static_cast<double>(placed_bytes_) / static_cast<double>(file_.file_bytes()));
  return matrix;
}

Result<std::vector<float>> Loader::vector(const std::string& name, size_t size) {
  TERRACE_TRY(const format::GgufTensor* tensor, find(name));
  const format::BlockType& type = *format::find_block_type(tensor->type);
  if (tensor->elements() != size || !type.codec) {
    return fail("the tensor '{}' has {} values of type {}, expected {} numbers", name, tensor->elements(), type.name,
                size);
  }
  token_bytes_ += tensor->data.size();
  std::vector<float> values(size);
  for (size_t i = 0; i < size / type.values; ++i)
    type.codec->decode(tensor->data.data() + i * type.bytes, values.data() + i * type.values);
  return values;
}

Result<std::vector<float>> Loader::vector_or_none(const std::string& name, size_t size) {
  return has(name) ? vector(name, size) : Result<std::vector<float>>(std::vector<float>());
}

}  // namespace terrace::model
