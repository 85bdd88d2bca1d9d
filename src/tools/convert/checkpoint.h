// A checkpoint's tensors: one model.safetensors, or shards with an index.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"

namespace terrace::tools {

struct CheckpointTensor {
  std::string name;
  std::string dtype;            ///< as safetensors spells it: "BF16"
  std::vector<uint64_t> shape;  ///< slowest first
  size_t shard = 0;
  uint64_t offset = 0, bytes = 0;  ///< in the shard

  uint64_t values() const;
  /// Bytes of one value.
  uint64_t width() const;
};

/// Which shard holds each tensor, of the text of a model.safetensors.index.json. Shards are plain file names.
Result<std::map<std::string, std::string>> parse_shard_index(std::string_view text, std::string_view where);

/// Read in places, without being mapped: the pages of a mapping count as the process's memory.
class Checkpoint {
 public:
  /// Errors name the file and the tensor: a shard that is missing or cut short, a tensor that is listed twice, or in
  /// the index and not in its shard.
  static Result<Checkpoint> open(const std::string& folder);

  const CheckpointTensor* find(std::string_view name) const;
  const std::map<std::string, CheckpointTensor, std::less<>>& tensors() const { return tensors_; }
  const std::vector<std::string>& paths() const { return paths_; }  ///< of the shards
  const std::string& path(const CheckpointTensor& tensor) const { return paths_[tensor.shard]; }

  /// Fills `target` with bytes of the tensor from `offset` on, both within it.
  Status read(const CheckpointTensor& tensor, uint64_t offset, std::span<std::byte> target) const;
  /// Asks the system to read ahead.
  void prefetch(const CheckpointTensor& tensor, uint64_t offset, uint64_t size) const;

 private:
  Status add_shard(const std::string& path);
  Status compare(const std::map<std::string, std::string>& index, const std::string& where) const;

  std::vector<std::string> paths_;
  std::vector<RandomFile> files_;
  std::map<std::string, CheckpointTensor, std::less<>> tensors_;
};

}  // namespace terrace::tools
