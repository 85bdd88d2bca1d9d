#include "tools/importance.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "format/gguf.h"
#include "format/gguf_writer.h"
#include "tools/sketch.h"

namespace terrace::tools {
namespace {

constexpr std::string_view kSums = ".in_sum2", kCounts = ".counts", kSketch = ".in_sketch";
constexpr uint32_t kF32 = 0;

enum class Signs { positive, any };

Result<std::vector<double>> values_of(const std::string& path, const format::GgufTensor& tensor, Signs signs) {
  if (tensor.type != kF32) return fail("{}: tensor '{}' is not F32", path, tensor.name);
  std::vector<double> values(tensor.elements());
  for (size_t i = 0; i < values.size(); ++i) {
    float value = 0;
    std::memcpy(&value, tensor.data.data() + i * sizeof value, sizeof value);
    if (!std::isfinite(value)) return fail("{}: tensor '{}' has {} at {}; all is finite", path, tensor.name, value, i);
    if (value < 0 && signs == Signs::positive)
      return fail("{}: tensor '{}' has {} at {}; sums of squares and counts are not negative", path, tensor.name, value,
                  i);
    values[i] = value;
  }
  return values;
}

Result<ColumnSums> read_sums(const std::string& path, const format::GgufFile& file, const format::GgufTensor& tensor) {
  const std::string name = tensor.name.substr(0, tensor.name.size() - kSums.size());
  const format::GgufTensor* counts = file.find(name + std::string(kCounts));
  if (!counts) return fail("{}: '{}' has sums but no counts", path, name);
  ColumnSums sums;
  sums.columns = tensor.shape[0];
  TERRACE_TRY(sums.squares, values_of(path, tensor, Signs::positive));
  TERRACE_TRY(sums.counts, values_of(path, *counts, Signs::positive));
  if (sums.columns == 0 || sums.counts.size() * sums.columns != sums.squares.size())
    return fail("{}: '{}' has {} sums of {} columns and {} counts", path, name, sums.squares.size(), sums.columns,
                sums.counts.size());
  // A fraction of an input would make means larger than any float.
  if (std::any_of(sums.counts.begin(), sums.counts.end(), [](double count) { return count > 0 && count < 1; }))
    return fail("{}: '{}' has a count between 0 and 1", path, name);
  if (const format::GgufTensor* sketch = file.find(name + std::string(kSketch))) {
    if (sums.counts.size() != 1 || sketch->elements() != sums.columns * format::kDirections)
      return fail("{}: '{}' has {} sums and a sketch of {} values; a sketch has {} for each sum", path, name,
                  sums.squares.size(), sketch->elements(), format::kDirections);
    TERRACE_TRY(sums.sketch, values_of(path, *sketch, Signs::any));
    if (column_directions(sums).empty())
      return fail("{}: the sketch of '{}' does not belong to its sums of squares", path, name);
  }
  return sums;
}

}  // namespace

Result<ImportanceFile> load_importance(const std::string& path) {
  TERRACE_TRY(const auto file, format::GgufFile::open(path));
  const auto type = file.metadata().string_or("general.type", "");
  if (!type || *type != "imatrix")
    return fail("{} is no importance matrix: general.type is not 'imatrix' (terrace imatrix makes one)", path);
  ImportanceFile loaded;
  for (const format::GgufTensor& tensor : file.tensors()) {
    if (!tensor.name.ends_with(kSums)) continue;
    TERRACE_TRY(auto sums, read_sums(path, file, tensor));
    loaded.tensors.emplace(tensor.name.substr(0, tensor.name.size() - kSums.size()), std::move(sums));
  }
  if (loaded.tensors.empty()) return fail("{} has no sums", path);
  if (const auto datasets = file.metadata().array("imatrix.datasets"); datasets) loaded.datasets = (*datasets)->strings;
  TERRACE_TRY(const uint64_t chunks, file.metadata().integer_or("imatrix.chunk_count", 0));
  TERRACE_TRY(const uint64_t chunk_size, file.metadata().integer_or("imatrix.chunk_size", 0));
  loaded.chunks = static_cast<uint32_t>(chunks);
  loaded.chunk_size = static_cast<uint32_t>(chunk_size);
  return loaded;
}

Status save_importance(const std::string& path, const ImportanceFile& file) {
  format::GgufMetadata metadata;
  metadata.set("general.type", "imatrix");
  format::GgufArray datasets{format::GgufType::string, {}, {}, file.datasets, {}};
  metadata.set("imatrix.datasets", std::move(datasets));
  metadata.set("imatrix.chunk_count", file.chunks);
  metadata.set("imatrix.chunk_size", file.chunk_size);
  std::vector<format::GgufTensor> tensors;
  for (const auto& [name, sums] : file.tensors) {
    const uint64_t matrices = sums.counts.size();
    tensors.push_back({name + std::string(kSums), kF32, {sums.columns, matrices}});
    tensors.push_back({name + std::string(kCounts), kF32, {1, matrices}});
    if (!sums.sketch.empty())
      tensors.push_back({name + std::string(kSketch), kF32, {format::kDirections, sums.columns}});
  }
  TERRACE_TRY(auto writer, format::GgufWriter::create(path, metadata, tensors));
  for (const auto& [name, sums] : file.tensors) {
    for (const std::vector<double>* values : {&sums.squares, &sums.counts, &sums.sketch}) {
      if (values->empty()) continue;
      const std::vector<float> floats(values->begin(), values->end());
      TERRACE_CHECK(writer.write(std::as_bytes(std::span(floats))));
    }
  }
  return writer.finish();
}

std::vector<float> column_importance(const ColumnSums& sums) {
  const size_t matrices = sums.counts.size();
  std::vector<float> importance(sums.squares.size());
  std::vector<double> mean(sums.columns);
  size_t used = 0;
  for (size_t m = 0; m < matrices; ++m) {
    if (sums.counts[m] == 0) continue;
    ++used;
    for (size_t i = 0; i < sums.columns; ++i) {
      const double value = sums.squares[m * sums.columns + i] / sums.counts[m];
      importance[m * sums.columns + i] = static_cast<float>(value);
      mean[i] += value;
    }
  }
  for (size_t m = 0; m < matrices; ++m) {
    if (sums.counts[m] != 0) continue;
    for (size_t i = 0; i < sums.columns; ++i)
      importance[m * sums.columns + i] = used == 0 ? 1.0F : static_cast<float>(mean[i] / static_cast<double>(used));
  }
  return importance;
}

std::vector<float> column_directions(const ColumnSums& sums) {
  if (sums.sketch.empty()) return {};
  return directions_of(sums.squares, sums.sketch, std::max(1.0, sums.counts[0]));
}

}  // namespace terrace::tools
