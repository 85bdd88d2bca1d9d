// Tables of which a token reads a few rows: they stay on disk.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/file.h"
#include "base/result.h"
#include "format/gguf.h"

namespace terrace::memory {

class RowTable {
 public:
  virtual ~RowTable() = default;
  virtual uint64_t rows() const = 0;
  virtual size_t width() const = 0;
  /// Announces rows that will be read soon, so that the reads can overlap.
  virtual void prefetch(std::span<const uint64_t> rows) = 0;
  /// Decodes rows one after the other to out[rows.size() * width()]. An error names the file.
  virtual Status read(std::span<const uint64_t> rows, float* out) = 0;
};

/// A table in its model file. Rows are read where they are needed; nothing is kept but what the system caches.
Result<std::unique_ptr<RowTable>> open_disk_table(const format::GgufFile& file, const format::GgufTensor& tensor);

}  // namespace terrace::memory
