#include "base/buffer.h"

#include <sys/mman.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <utility>

namespace terrace {
namespace {

constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kPage = 4096;
std::array<std::atomic<uint64_t>, 6> held;

}  // namespace

std::string_view purpose_name(Purpose purpose) {
  constexpr std::string_view names[] = {"weights", "KV", "states", "activations", "logits", "other"};
  return names[static_cast<size_t>(purpose)];
}

uint64_t bytes_held(Purpose purpose) { return held[static_cast<size_t>(purpose)].load(); }

Buffer::Buffer(size_t bytes, Purpose purpose) : size_(bytes), purpose_(purpose) {
  if (bytes == 0) return;
  // A buffer of some megabytes starts on a huge page, so that all of it can lie in such pages.
  const size_t granule = bytes >= kHugePage ? kHugePage : kPage;
  mapped_ = (bytes + granule - 1) / granule * granule;
  const size_t reserve = mapped_ + (granule == kHugePage ? kHugePage : 0);
  void* address = ::mmap(nullptr, reserve, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    std::fprintf(stderr, "terrace: out of memory: cannot reserve %zu bytes\n", bytes);
    std::abort();
  }
  auto* base = static_cast<std::byte*>(address);
  const size_t skip = (granule - reinterpret_cast<uintptr_t>(base) % granule) % granule;
  if (granule == kHugePage) {
    if (skip > 0) ::munmap(base, skip);
    if (reserve - skip > mapped_) ::munmap(base + skip + mapped_, reserve - skip - mapped_);
    ::madvise(base + skip, mapped_, MADV_HUGEPAGE);
    data_ = base + skip;
  } else {
    data_ = base;
  }
  held[static_cast<size_t>(purpose_)] += mapped_;
}

Buffer::Buffer(Buffer&& other) noexcept { *this = std::move(other); }

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  std::swap(purpose_, other.purpose_);
  return *this;
}

Buffer::~Buffer() {
  if (!data_) return;
  ::munmap(data_, mapped_);
  held[static_cast<size_t>(purpose_)] -= mapped_;
}

}  // namespace terrace
