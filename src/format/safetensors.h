// safetensors: a JSON header and raw little-endian arrays. Source: the format section of the safetensors project's
// README.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace terrace::format {

struct SafetensorsArray {
  std::string dtype;  ///< "F32", "BF16", "I32", "U8", ...
  std::vector<uint64_t> shape;
  std::span<const std::byte> data;
};

/// Parses a whole file in memory; `bytes` must outlive the result. Offsets, sizes and shapes are checked.
Result<std::map<std::string, SafetensorsArray>> parse_safetensors(std::span<const std::byte> bytes);

/// Writes arrays one after the other; the file appears at `path` only when finish() succeeds.
class SafetensorsWriter {
 public:
  /// `arrays` in the order in which their data will be written (their `data` is ignored).
  static Result<SafetensorsWriter> create(const std::string& path,
                                          const std::vector<std::pair<std::string, SafetensorsArray>>& arrays);
  Status write(std::span<const std::byte> piece) { return file_.write(piece); }
  Status finish();

 private:
  SafetensorsWriter(OutputFile file, uint64_t expected) : file_(std::move(file)), expected_(expected) {}
  OutputFile file_;
  uint64_t expected_;
};

}  // namespace terrace::format
