// Writing GGUF version 3: the metadata and the tensor list first, then each tensor's data in that order.
#pragma once

#include "base/file.h"
#include "format/gguf.h"

namespace terrace::format {

/// Streams a GGUF file; the file appears at `path` only when finish() succeeds.
class GgufWriter {
 public:
  /// `tensors` gives names, types and shapes; their offsets and data are ignored. `general.alignment` is honoured
  /// (default 32).
  static Result<GgufWriter> create(const std::string& path, const GgufMetadata& metadata,
                                   const std::vector<GgufTensor>& tensors);

  /// Appends a piece of the current tensor; the next one begins when it is complete.
  Status write(std::span<const std::byte> piece);
  /// An error when data is missing; otherwise puts the file in place.
  Status finish();

 private:
  GgufWriter(OutputFile file, std::vector<uint64_t> sizes, uint64_t alignment)
      : file_(std::move(file)), sizes_(std::move(sizes)), alignment_(alignment) {}
  Status pad();

  OutputFile file_;
  std::vector<uint64_t> sizes_;
  uint64_t alignment_;
  size_t current_ = 0;
  uint64_t written_ = 0;  // of the current tensor
};

/// The bytes of a file's header as the writer makes them, without data or padding behind it.
std::string serialize_gguf_header(const GgufMetadata& metadata, const std::vector<GgufTensor>& tensors,
                                  uint64_t alignment);

}  // namespace terrace::format
