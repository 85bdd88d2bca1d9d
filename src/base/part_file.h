// The unfinished form of an output file, which outlives the process so that the work can be continued.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/result.h"

namespace terrace {

/// The file `path`.part, locked: one process at a time writes it. It stays when the object goes, unless commit() has
/// put it in place or remove() has deleted it.
class PartFile {
 public:
  /// Opens it as it is, or makes an empty one. An error when another process holds it.
  static Result<PartFile> open(const std::string& path);
  PartFile(PartFile&& other) noexcept;
  PartFile& operator=(PartFile&&) = delete;
  ~PartFile();

  Result<uint64_t> size() const;
  /// Fills `target` from `offset` on.
  Status read(uint64_t offset, std::span<std::byte> target) const;
  /// Cuts the file to `size`; the next write() goes there.
  Status cut(uint64_t size);
  Status write(std::span<const std::byte> bytes);
  /// Returns when what was written is on the disk.
  Status sync();
  /// Syncs, renames the file to `path` and syncs the folder; afterwards nothing but destruction is allowed.
  Status commit();
  void remove();

 private:
  PartFile(std::string path, int descriptor) : path_(std::move(path)), descriptor_(descriptor) {}
  std::string part() const { return path_ + ".part"; }

  std::string path_;
  int descriptor_ = -1;
  uint64_t end_ = 0;      // where the next byte goes
  uint64_t started_ = 0;  // up to here the system has been asked to write
};

}  // namespace terrace
