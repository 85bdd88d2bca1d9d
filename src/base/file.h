// Files: read-only mappings, whole reads, and output files that appear complete or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace terrace {

/// A regular file, mapped read-only; where the file system cannot map, its bytes are read into memory instead.
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Drops the pages that lie wholly inside `part` from memory; touching them reads them again.
  void release(std::span<const std::byte> part) const;
  /// Asks the system to read `part` ahead.
  void prefetch(std::span<const std::byte> part) const;

 private:
  MappedFile(const std::byte* data, size_t size, bool mapped) : data_(data), size_(size), mapped_(mapped) {}
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
  bool mapped_ = false;
};

/// A regular file that is read in places, without being mapped.
class RandomFile {
 public:
  static Result<RandomFile> open(const std::string& path);
  RandomFile(RandomFile&& other) noexcept;
  RandomFile& operator=(RandomFile&&) = delete;
  ~RandomFile();

  /// Fills `target` from `offset` on. Thread-safe.
  Status read(uint64_t offset, std::span<std::byte> target) const;
  /// Asks the system to read a part ahead.
  void prefetch(uint64_t offset, uint64_t size) const;

 private:
  RandomFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_ = -1;
};

/// The whole of a small text or JSON file; `limit` bounds it. "-" reads standard input.
Result<std::string> read_text(const std::string& path, size_t limit = size_t{1} << 30);

/// Writes to `path` + ".part"; commit() syncs and renames it into place, and without commit() it is removed.
class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);
  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  Status write(std::span<const std::byte> bytes);
  Status write(std::string_view text) { return write(std::as_bytes(std::span(text.data(), text.size()))); }
  uint64_t written() const { return written_; }
  Status commit();

 private:
  OutputFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string path_;
  int descriptor_ = -1;
  uint64_t written_ = 0;
};

}  // namespace terrace
