#include "base/part_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace terrace {
namespace {

constexpr uint64_t kWriteBehind = uint64_t{32} << 20;

Error system_error(std::string_view what, const std::string& path) {
  return fail("{}: {}: {}", path, what, std::strerror(errno));
}

/// Whether the descriptor is still the file of that name: whoever held the lock before may have renamed it.
bool is_file_at(int descriptor, const std::string& path) {
  struct stat held{}, named{};
  return ::fstat(descriptor, &held) == 0 && ::stat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

/// A rename is on the disk only when its folder is.
Status sync_folder(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  const std::string folder = parent.empty() ? "." : parent.string();
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return system_error("cannot open the folder", folder);
  // Some file systems cannot sync folders, and say so with EINVAL.
  const bool synced = ::fsync(descriptor) == 0 || errno == EINVAL || errno == EROFS;
  const Status status = synced ? Status(Done{}) : Status(system_error("cannot write the folder", folder));
  ::close(descriptor);
  return status;
}

}  // namespace

Result<PartFile> PartFile::open(const std::string& path) {
  const std::string part = path + ".part";
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return fail("{}: is a folder, not a file to write", path);
  while (true) {
    const int descriptor = ::open(part.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (descriptor < 0) return system_error("cannot create", part);
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      Error error = errno == EWOULDBLOCK
                        ? fail("{}: another process is writing it; wait for it or choose another name", part)
                        : system_error("cannot lock", part);
      ::close(descriptor);
      return error;
    }
    if (is_file_at(descriptor, part)) return PartFile(path, descriptor);
    ::close(descriptor);
  }
}

PartFile::PartFile(PartFile&& other) noexcept
    : path_(std::move(other.path_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      end_(other.end_),
      started_(other.started_) {}

PartFile::~PartFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<uint64_t> PartFile::size() const {
  struct stat info{};
  if (::fstat(descriptor_, &info) != 0) return system_error("cannot read", part());
  return static_cast<uint64_t>(info.st_size);
}

Status PartFile::read(uint64_t offset, std::span<std::byte> target) const {
  while (!target.empty()) {
    const ssize_t count = ::pread(descriptor_, target.data(), target.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot read", part());
    if (count == 0) return fail("{}: the file ends at {}", part(), offset);
    target = target.subspan(static_cast<size_t>(count));
    offset += static_cast<uint64_t>(count);
  }
  return Done{};
}

Status PartFile::cut(uint64_t size) {
  if (::ftruncate(descriptor_, static_cast<off_t>(size)) != 0) return system_error("cannot cut", part());
  end_ = started_ = size;
  return Done{};
}

Status PartFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(end_));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot write", part());
    bytes = bytes.subspan(static_cast<size_t>(count));
    end_ += static_cast<uint64_t>(count);
  }
  // The disk starts early, or each sync() would wait for all that piled up.
  if (end_ - started_ >= kWriteBehind) {
    ::sync_file_range(descriptor_, static_cast<off_t>(started_), static_cast<off_t>(end_ - started_),
                      SYNC_FILE_RANGE_WRITE);
    started_ = end_;
  }
  return Done{};
}

Status PartFile::sync() {
  if (::fdatasync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) return system_error("cannot write", part());
  return Done{};
}

Status PartFile::commit() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) return system_error("cannot write", part());
  // Renamed while the lock is held, so that nobody else can begin with a file that is complete.
  if (::rename(part().c_str(), path_.c_str()) != 0) return system_error("cannot finish writing", path_);
  return sync_folder(path_);
}

void PartFile::remove() { ::unlink(part().c_str()); }

}  // namespace terrace
