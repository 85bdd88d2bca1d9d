#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace terrace {
namespace {

Error system_error(std::string_view what, const std::string& path) {
  return fail("{}: {}: {}", path, what, std::strerror(errno));
}

/// Fills `target` from the descriptor, in pieces, since a read may be short.
Status read_exactly(int descriptor, uint64_t offset, std::span<std::byte> target, const std::string& path) {
  size_t done = 0;
  while (done < target.size()) {
    const ssize_t count =
        ::pread(descriptor, target.data() + done, target.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot read", path);
    if (count == 0) return fail("{}: the file ended after {} of {} bytes", path, done, target.size());
    done += static_cast<size_t>(count);
  }
  return Done{};
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: a pipe is refused below, not waited for. Regular files ignore it.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return system_error("cannot open", path);
  struct stat info{};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    const bool directory = S_ISDIR(info.st_mode);
    ::close(descriptor);
    return fail("{}: {}, a model is a single file", path, directory ? "is a directory" : "is not a regular file");
  }
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) {
    ::close(descriptor);
    return fail("{}: the file is empty", path);
  }
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  if (address != MAP_FAILED) {
    ::close(descriptor);
    return MappedFile(static_cast<const std::byte*>(address), size, true);
  }
  auto* copy = static_cast<std::byte*>(std::malloc(size));
  Status status = copy ? read_exactly(descriptor, 0, {copy, size}, path)
                       : Status(fail("{}: cannot map or hold {} bytes", path, size));
  ::close(descriptor);
  if (!status) {
    std::free(copy);
    return status.error();
  }
  return MappedFile(copy, size, false);
}

MappedFile::MappedFile(MappedFile&& other) noexcept : data_(other.data_), size_(other.size_), mapped_(other.mapped_) {
  other.data_ = nullptr;
  other.size_ = 0;
}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!data_) return;
  auto* address = const_cast<std::byte*>(data_);
  if (mapped_)
    ::munmap(address, size_);
  else
    std::free(address);
}

namespace {
void advise(std::span<const std::byte> part, int advice, bool inside) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  auto first = reinterpret_cast<uintptr_t>(part.data());
  uintptr_t last = first + part.size();
  first = inside ? (first + page - 1) / page * page : first / page * page;
  if (inside) last = last / page * page;
  if (first < last) ::madvise(reinterpret_cast<void*>(first), last - first, advice);
}
}  // namespace

void MappedFile::release(std::span<const std::byte> part) const {
  if (mapped_) advise(part, MADV_DONTNEED, true);
}

void MappedFile::prefetch(std::span<const std::byte> part) const {
  if (mapped_) advise(part, MADV_WILLNEED, false);
}

Result<RandomFile> RandomFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return system_error("cannot open", path);
  // Rows lie far apart: what the system would read ahead is not needed.
  ::posix_fadvise(descriptor, 0, 0, POSIX_FADV_RANDOM);
  return RandomFile(path, descriptor);
}

RandomFile::RandomFile(RandomFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

RandomFile::~RandomFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status RandomFile::read(uint64_t offset, std::span<std::byte> target) const {
  return read_exactly(descriptor_, offset, target, path_);
}

void RandomFile::prefetch(uint64_t offset, uint64_t size) const {
  ::posix_fadvise(descriptor_, static_cast<off_t>(offset), static_cast<off_t>(size), POSIX_FADV_WILLNEED);
}

Result<std::string> read_text(const std::string& path, size_t limit) {
  const bool standard_input = path == "-";
  const int descriptor = standard_input ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return system_error("cannot open", path);
  std::string text;
  Status status = Done{};
  while (status) {
    const size_t old_size = text.size();
    text.resize(old_size + (size_t{1} << 16));
    const ssize_t count = ::read(descriptor, text.data() + old_size, text.size() - old_size);
    if (count < 0 && errno != EINTR) status = system_error("cannot read", path);
    text.resize(old_size + static_cast<size_t>(count > 0 ? count : 0));
    if (text.size() > limit) status = fail("{}: longer than {} bytes", path, limit);
    if (count == 0) break;
  }
  if (!standard_input) ::close(descriptor);
  if (!status) return status.error();
  return text;
}

Result<OutputFile> OutputFile::create(const std::string& path) {
  const std::string part = path + ".part";
  const int descriptor = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) return system_error("cannot create", part);
  return OutputFile(path, descriptor);
}

OutputFile::OutputFile(OutputFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), written_(other.written_) {}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink((path_ + ".part").c_str());
}

Status OutputFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(descriptor_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return system_error("cannot write", path_);
    bytes = bytes.subspan(static_cast<size_t>(count));
    written_ += static_cast<uint64_t>(count);
  }
  return Done{};
}

Status OutputFile::commit() {
  // A file system may report a full disk only here.
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) return system_error("cannot write", path_);
  const int descriptor = std::exchange(descriptor_, -1);
  const std::string part = path_ + ".part";
  if (::close(descriptor) != 0 || ::rename(part.c_str(), path_.c_str()) != 0) {
    Error error = system_error("cannot finish writing", path_);
    ::unlink(part.c_str());
    return error;
  }
  return Done{};
}

}  // namespace terrace
