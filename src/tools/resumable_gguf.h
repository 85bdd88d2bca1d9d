// Writing a GGUF file that may take hours: an interrupt, or a kill, loses no more than the last moments of it.
//
// The data goes to OUT.part. Beside it OUT.part.json holds what the file is made from (the caller's fingerprint) and
// how many bytes of tensor data are safely on the disk; it is replaced only after a sync of those bytes. The same work,
// started again, finds both and goes on there. OUT itself appears, complete, in finish().
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/part_file.h"
#include "format/gguf.h"

namespace terrace::tools {

/// A line for fingerprints that says which file this is: path, size and time. Empty if it is not there.
std::string file_stamp(const std::string& path);

class ResumableGguf {
 public:
  /// `tensors` gives names, types and shapes. `fingerprint` stands for everything the data depends on: inputs and
  /// options. With an equal fingerprint and an equal header the work is continued, otherwise it starts anew. An error
  /// when another process writes the same file.
  static Result<ResumableGguf> open(const std::string& path, const format::GgufMetadata& metadata,
                                    const std::vector<format::GgufTensor>& tensors, std::string_view fingerprint);
  ResumableGguf(ResumableGguf&& other) noexcept;
  ResumableGguf& operator=(ResumableGguf&&) = delete;
  /// Deletes the part, unless finish() or keep() has succeeded.
  ~ResumableGguf();

  /// Where the next byte goes: the tensors before are complete, and `bytes` bytes of this one are there. Behind the
  /// last tensor, `tensor` is their number.
  struct Place {
    size_t tensor = 0;
    uint64_t bytes = 0;
  };
  Place place() const;
  uint64_t size_of(size_t tensor) const { return sizes_[tensor]; }
  uint64_t kept() const { return kept_; }     ///< bytes of data taken over from an earlier run
  uint64_t done() const { return written_; }  ///< bytes of data so far, with those
  uint64_t total() const { return offsets_.back(); }

  /// Appends a piece of the current tensor; the next one begins when it is complete. A piece may end the tensor, not
  /// go beyond it.
  Status write(std::span<const std::byte> piece);
  /// Says that the work can be continued here. Now and then this waits for the disk.
  Status mark();
  /// Leaves the part, as far as the last mark(), for a later run.
  Status keep();
  /// An error when data is missing; otherwise puts the file in place.
  Status finish();

 private:
  ResumableGguf(std::string path, PartFile file, std::string fingerprint)
      : path_(std::move(path)), file_(std::move(file)), fingerprint_(std::move(fingerprint)) {}
  std::string notes_path() const { return path_ + ".part.json"; }
  uint64_t kept_bytes(const std::string& header) const;
  Status start(const std::string& header);
  Status save();
  void lay_out(const std::vector<format::GgufTensor>& tensors, uint64_t alignment);

  std::string path_;
  PartFile file_;
  std::string fingerprint_;
  std::vector<uint64_t> sizes_;    // of the tensors
  std::vector<uint64_t> offsets_;  // of the tensors in the data, and the end of the data
  uint64_t kept_ = 0, written_ = 0, marked_ = 0, saved_ = 0;
  bool remove_ = true;
};

}  // namespace terrace::tools
