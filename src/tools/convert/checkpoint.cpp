#include "tools/convert/checkpoint.h"

#include <filesystem>
#include <set>

#include "format/safetensors.h"
#include "tools/convert/json_text.h"

namespace terrace::tools {
namespace {

constexpr const char* kSingle = "model.safetensors";
constexpr const char* kIndex = "model.safetensors.index.json";

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

uint64_t CheckpointTensor::values() const {
  uint64_t product = 1;
  for (const uint64_t size : shape) product *= size;
  return product;
}

uint64_t CheckpointTensor::width() const {
  const uint64_t count = values();
  return count == 0 ? 1 : bytes / count;
}

Result<std::map<std::string, std::string>> parse_shard_index(std::string_view text, std::string_view where) {
  TERRACE_TRY(const Json json, parse_json(text, where));
  if (!json.is_object() || !json.contains("weight_map") || !json["weight_map"].is_object())
    return fail("{}: it has no 'weight_map' that says which file holds each tensor", where);
  std::map<std::string, std::string> index;
  for (const auto& [name, file] : json["weight_map"].items()) {
    const std::string shard = file.is_string() ? file.get<std::string>() : std::string();
    // A name with a slash could lead out of the folder.
    if (shard.empty() || shard == "." || shard == ".." || shard.find('/') != std::string::npos ||
        shard.find('\0') != std::string::npos) {
      return fail("{}: the tensor '{}' is said to be in '{}', which is no file name", where, name, shard);
    }
    index.emplace(name, shard);
  }
  if (index.empty()) return fail("{}: its 'weight_map' names no tensor", where);
  return index;
}

Result<Checkpoint> Checkpoint::open(const std::string& folder) {
  Checkpoint checkpoint;
  const std::string index_path = folder + "/" + kIndex, single = folder + "/" + kSingle;
  if (!exists(index_path)) {
    if (!exists(single)) {
      return fail("{}: there is neither {} nor {}; other forms of weights must be saved as safetensors first", folder,
                  kSingle, kIndex);
    }
    TERRACE_CHECK(checkpoint.add_shard(single));
    return checkpoint;
  }
  TERRACE_TRY(const std::string text, read_text(index_path));
  TERRACE_TRY(const auto index, parse_shard_index(text, index_path));
  std::set<std::string> shards;
  for (const auto& [name, shard] : index) shards.insert(shard);
  for (const std::string& shard : shards) {
    const std::string path = folder + "/" + shard;
    if (!exists(path)) return fail("{}: the shard '{}' that it names is not in the folder", index_path, shard);
    TERRACE_CHECK(checkpoint.add_shard(path));
  }
  TERRACE_CHECK(checkpoint.compare(index, index_path));
  return checkpoint;
}

Status Checkpoint::add_shard(const std::string& path) {
  {
    // Mapped for its header only.
    TERRACE_TRY(const auto mapped, MappedFile::open(path));
    const auto arrays = format::parse_safetensors(mapped.bytes());
    if (!arrays) return fail("{}: {}", path, arrays.error().message);
    for (const auto& [name, array] : *arrays) {
      const auto offset = static_cast<uint64_t>(array.data.data() - mapped.bytes().data());
      const auto [at, added] = tensors_.emplace(
          name, CheckpointTensor{name, array.dtype, array.shape, paths_.size(), offset, array.data.size()});
      if (!added) return fail("{}: the tensor '{}' is also in {}", path, name, paths_[at->second.shard]);
    }
  }
  TERRACE_TRY(auto file, RandomFile::open(path));
  paths_.push_back(path);
  files_.push_back(std::move(file));
  return Done{};
}

Status Checkpoint::compare(const std::map<std::string, std::string>& index, const std::string& where) const {
  for (const auto& [name, shard] : index) {
    const CheckpointTensor* tensor = find(name);
    if (!tensor || std::filesystem::path(path(*tensor)).filename() != shard)
      return fail("{}: the tensor '{}' is not in {}, where it should be", where, name, shard);
  }
  for (const auto& [name, tensor] : tensors_) {
    if (!index.contains(name)) return fail("{}: it does not list the tensor '{}' of {}", where, name, path(tensor));
  }
  return Done{};
}

const CheckpointTensor* Checkpoint::find(std::string_view name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? nullptr : &found->second;
}

Status Checkpoint::read(const CheckpointTensor& tensor, uint64_t offset, std::span<std::byte> target) const {
  return files_[tensor.shard].read(tensor.offset + offset, target);
}

void Checkpoint::prefetch(const CheckpointTensor& tensor, uint64_t offset, uint64_t size) const {
  files_[tensor.shard].prefetch(tensor.offset + offset, size);
}

}  // namespace terrace::tools
