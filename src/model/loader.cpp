#include "model/loader.h"

#include <algorithm>

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

Result<size_t> Loader::count_or_zero(std::string_view key, size_t largest) const {
  TERRACE_TRY(const uint64_t value, metadata().integer_or(full_key(key), 0));
  return value == 0 ? Result<size_t>(0) : count(key, largest);
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

Result<bool> Loader::flag_or(std::string_view key, bool fallback) const {
  return metadata().boolean_or(full_key(key), fallback);
}

Result<size_t> Loader::count_of_layer(std::string_view key, size_t layer, std::optional<size_t> fallback,
                                      size_t largest) const {
  const format::GgufEntry* entry = metadata().find(full_key(key));
  if (!entry || entry->type != format::GgufType::array) {
    return fallback ? count_or(key, *fallback, largest) : count(key, largest);
  }
  TERRACE_TRY(const auto values, integers(key, layer + 1));
  if (values[layer] < 1 || static_cast<uint64_t>(values[layer]) > largest) {
    return fail("the metadata key '{}' is {} for layer {}; possible is 1 to {}", full_key(key), values[layer], layer,
                largest);
  }
  return static_cast<size_t>(values[layer]);
}

Result<std::vector<int64_t>> Loader::integers(std::string_view key, size_t size) const {
  TERRACE_TRY(const format::GgufArray* array, metadata().array(full_key(key)));
  if (array->integers.size() < size) {
    return fail("the metadata key '{}' has {} integers, expected at least {}", full_key(key), array->integers.size(),
                size);
  }
  return array->integers;
}

Result<float> Loader::epsilon() const {
  TERRACE_TRY(const float epsilon, number_or("attention.layer_norm_rms_epsilon", 1e-5));
  if (epsilon < 0)
    return fail("'{}.attention.layer_norm_rms_epsilon' is {}, it must not be negative", architecture_, epsilon);
  return epsilon;
}

Result<size_t> Loader::trunk_layers() const {
  TERRACE_TRY(const size_t layers, count("block_count", 4096));
  TERRACE_TRY(const size_t drafting, metadata().integer_or(full_key("nextn_predict_layers"), 0));
  if (drafting > 1) return fail("{} multi-token-prediction layers are not supported (at most 1)", drafting);
  if (drafting >= layers) return fail("the model has no layers besides its multi-token-prediction head");
  return layers - drafting;
}

bool Loader::begin_draft_head() {
  if (options_.draft_head) counting_ = false;
  return options_.draft_head;
}

Status Loader::check_rope(size_t rope, size_t size) const {
  if (rope >= rope_dimensions_.size() || rope_dimensions_[rope] > size)
    return fail("{} values of a head cannot turn: heads have {}",
                rope < rope_dimensions_.size() ? rope_dimensions_[rope] : 0, size);
  return Done{};
}

const format::GgufFile& Loader::file_of(std::string_view name) const {
  if (!options_.draft_file || file_.find(name)) return file_;
  const auto layers = trunk_layers();
  return layers && name.starts_with(fmt::format("blk.{}.", *layers)) ? *options_.draft_file : file_;
}

void Loader::count_weights(uint64_t& part, uint64_t bytes, uint64_t weights) {
  if (!counting_) return;
  part += bytes;
  token_weights_ += weights;
}

Result<const format::GgufTensor*> Loader::find(const std::string& name) const {
  if (const format::GgufTensor* tensor = look_up(name)) return tensor;
  return fail("the tensor '{}', which a '{}' model needs, is missing", name, architecture_);
}

Result<const format::GgufTensor*> Loader::find(const std::string& name, std::span<const uint64_t> shape) const {
  TERRACE_TRY(const format::GgufTensor* tensor, find(name));
  if (!std::equal(shape.begin(), shape.end(), tensor->shape.begin(), tensor->shape.end())) {
    return fail("the tensor '{}' is [{}], expected [{}]", name, fmt::join(tensor->shape, ", "), fmt::join(shape, ", "));
  }
  return tensor;
}

Result<MatrixPtr> Loader::place(const format::GgufTensor& tensor, compute::MatrixView view) const {
  if (tensor.name.ends_with(".weight") && has(tensor.name.substr(0, tensor.name.size() - 6) + "scale") &&
      tensor.type == static_cast<uint32_t>(format::TypeCode::nvfp4))
    return fail("the tensor '{}' has a scale beside it, which is not supported yet", tensor.name);
  view.tensor = tensor.name;
  MatrixPtr matrix = backend_.place(view);
  if (!matrix)
    return fail("the tensor '{}' is of type {}, which cannot be computed yet", tensor.name,
                format::find_block_type(tensor.type)->name);
  return matrix;
}

void Loader::finish(const format::GgufTensor& tensor) {
  file_of(tensor.name).release(tensor.data);
  placed_bytes_ += tensor.data.size();
  if (options_.progress)
    options_.progress(static_cast<double>(placed_bytes_) / static_cast<double>(file_.file_bytes()));
}

Result<MatrixPtr> Loader::table(const std::string& name, size_t rows, size_t inputs) {
  TERRACE_TRY(const format::GgufTensor* tensor, find(name));
  const uint64_t found = tensor->shape.size() == 2 && rows == 0 ? tensor->shape[1] : rows;
  const uint64_t shape[] = {inputs, found};
  TERRACE_TRY(tensor, find(name, shape));
  TERRACE_TRY(auto matrix, place(*tensor, {tensor->type, found, inputs, tensor->data}));
  finish(*tensor);
  return matrix;
}

Result<std::unique_ptr<memory::RowTable>> Loader::row_table(const std::string& name, size_t width) {
  TERRACE_TRY(const format::GgufTensor* tensor, find(name));
  const uint64_t shape[] = {width, tensor->shape.size() == 2 ? tensor->shape[1] : 0};
  TERRACE_TRY(tensor, find(name, shape));
  return options_.open_table(file_of(name), *tensor);
}

Result<MatrixPtr> Loader::matrix(const std::string& name, size_t rows, size_t inputs) {
  TERRACE_TRY(auto matrix, table(name, rows, inputs));
  count_weights(token_bytes_.dense, look_up(name)->data.size(), uint64_t{matrix->rows()} * matrix->inputs());
  return matrix;
}

Result<MatrixPtr> Loader::head(const std::string& name, size_t rows, size_t inputs) {
  TERRACE_TRY(auto matrix, table(name, rows, inputs));
  count_head(*matrix, name);
  return matrix;
}

void Loader::count_head(const compute::Matrix& matrix, const std::string& name) {
  count_weights(token_bytes_.head, look_up(name)->data.size(), uint64_t{matrix.rows()} * matrix.inputs());
}

Result<MatrixPtr> Loader::matrix_of_rows(const std::string& name, size_t rows, size_t inputs,
                                         std::span<const size_t> chosen) {
  const uint64_t shape[] = {inputs, rows};
  TERRACE_TRY(const format::GgufTensor* tensor, find(name, shape));
  const size_t row_bytes = tensor->data.size() / rows;
  std::vector<std::byte> bytes;
  for (const size_t row : chosen) {
    const auto from = tensor->data.subspan(row * row_bytes, row_bytes);
    bytes.insert(bytes.end(), from.begin(), from.end());
  }
  count_weights(token_bytes_.dense, bytes.size(), uint64_t{chosen.size()} * inputs);
  return place(*tensor, {tensor->type, chosen.size(), inputs, bytes});
}

Result<MatrixPtr> Loader::matrix_of_columns(const std::string& name, size_t rows, size_t all_inputs, size_t first,
                                            size_t inputs) {
  const uint64_t shape[] = {all_inputs, rows};
  TERRACE_TRY(const format::GgufTensor* tensor, find(name, shape));
  const format::BlockType& type = *format::find_block_type(tensor->type);
  if (first % type.values != 0 || inputs % type.values != 0)
    return fail("the tensor '{}' of type {} cannot be cut at column {}", name, type.name, first);
  const size_t row_bytes = tensor->data.size() / rows;
  std::vector<std::byte> bytes;
  for (size_t row = 0; row < rows; ++row) {
    const auto part =
        tensor->data.subspan(row * row_bytes + first / type.values * type.bytes, inputs / type.values * type.bytes);
    bytes.insert(bytes.end(), part.begin(), part.end());
  }
  count_weights(token_bytes_.dense, bytes.size(), uint64_t{rows} * inputs);
  return place(*tensor, {tensor->type, rows, inputs, bytes, {}, 0, first});
}

Result<MatrixPtr> Loader::row_matrix(const std::string& name, size_t inputs) {
  TERRACE_TRY(const format::GgufTensor* tensor, find(name));
  if (tensor->elements() != inputs)
    return fail("the tensor '{}' has {} values, expected {}", name, tensor->elements(), inputs);
  count_weights(token_bytes_.dense, tensor->data.size(), inputs);
  return place(*tensor, {tensor->type, 1, inputs, tensor->data});
}

Result<std::vector<MatrixPtr>> Loader::matrices(const std::string& name, size_t count, size_t rows, size_t inputs,
                                                double share, size_t first_row, size_t all_rows) {
  if (all_rows == 0) all_rows = rows;
  const uint64_t shape[] = {inputs, all_rows, count};
  TERRACE_TRY(const format::GgufTensor* tensor, find(name, shape));
  const size_t row_bytes = tensor->data.size() / (all_rows * count);
  std::vector<MatrixPtr> matrices;
  for (size_t i = 0; i < count; ++i) {
    const auto data = tensor->data.subspan((i * all_rows + first_row) * row_bytes, rows * row_bytes);
    TERRACE_TRY(auto matrix, place(*tensor, {tensor->type, rows, inputs, data, {}, i}));
    matrices.push_back(std::move(matrix));
    // One by one, since the experts of a layer together are as large as all else that is being loaded.
    file_of(name).release(data);
  }
  if (first_row + rows == all_rows) finish(*tensor);
  const auto shared = [&](uint64_t all) { return static_cast<uint64_t>(static_cast<double>(all) * share); };
  count_weights(token_bytes_.experts, shared(count * rows * row_bytes), shared(count * rows * inputs));
  return matrices;
}

compute::KvLayer Loader::reserve_kv(size_t heads, size_t key_size, size_t value_size) {
  compute::KvLayer layer{options_.half_kv, heads, key_size, value_size};
  layer.key_offset = reserve_page(layer.bytes());
  layer.value_offset = layer.key_offset + heads * layer.key_bytes();
  return layer;
}

namespace {
/// A place of `bytes` at the end of `used`, which stays a multiple of 64.
size_t reserve(size_t& used, size_t bytes) {
  const size_t offset = used;
  used += (bytes + 63) / 64 * 64;
  return offset;
}
}  // namespace

size_t Loader::reserve_page(size_t bytes) { return reserve(page_bytes_, bytes); }
size_t Loader::reserve_state(size_t bytes) { return reserve(state_bytes_, bytes); }
size_t Loader::reserve_tail(size_t channels, size_t kernel, size_t dilation) {
  return reserve_state((kernel - 1) * dilation * channels * sizeof(float));
}

Result<ModelInfo> Loader::info(size_t layers, size_t hidden) const {
  ModelInfo info;
  info.architecture = architecture_;
  TERRACE_TRY(info.name, metadata().string_or("general.name", "unnamed"));
  TERRACE_TRY(info.trained_context, count_or("context_length", 4096, size_t{1} << 31));
  info.layers = layers;
  info.hidden = hidden;
  for (const auto& [layer, used] : routers_) {
    if (layer >= layers) continue;  // the draft head's
    ++info.routed_layers;
    info.experts_used = used;
  }
  info.selecting_layers = static_cast<size_t>(std::distance(indexers_.begin(), indexers_.lower_bound(layers)));
  info.page_bytes = page_bytes_;
  info.state_bytes = state_bytes_;
  info.token_bytes = token_bytes_;
  info.token_weights = token_weights_;
  return info;
}

Result<std::vector<float>> Loader::vector(const std::string& name, size_t size) {
  TERRACE_TRY(const format::GgufTensor* tensor, find(name));
  const format::BlockType& type = *format::find_block_type(tensor->type);
  if (tensor->elements() != size || !type.codec) {
    return fail("the tensor '{}' has {} values of type {}, expected {} numbers", name, tensor->elements(), type.name,
                size);
  }
  count_weights(token_bytes_.dense, tensor->data.size(), 0);
  std::vector<float> values(size);
  for (size_t i = 0; i < size / type.values; ++i)
    type.codec->decode(tensor->data.data() + i * type.bytes, values.data() + i * type.values);
  return values;
}

Result<std::vector<float>> Loader::taps(const std::string& name, size_t channels, size_t kernel) {
  TERRACE_TRY(const auto by_channel, vector(name, channels * kernel));
  std::vector<float> taps(by_channel.size());
  for (size_t c = 0; c < channels; ++c) {
    for (size_t k = 0; k < kernel; ++k) taps[k * channels + c] = by_channel[c * kernel + k];
  }
  return taps;
}

Result<std::vector<float>> Loader::vector_or_none(const std::string& name, size_t size) {
  return has(name) ? vector(name, size) : Result<std::vector<float>>(std::vector<float>());
}

}  // namespace terrace::model
