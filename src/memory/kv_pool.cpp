#include "memory/kv_pool.h"

#include <algorithm>
#include <cstring>

namespace terrace::memory {

struct KvPool::Slabs {
  std::mutex mutex;
  size_t page_bytes = 0;
  std::vector<Buffer> slabs;
  std::vector<std::byte*> free;

  void grow() {
    const size_t pages = std::max<size_t>(1, (size_t{8} << 20) / page_bytes);
    slabs.emplace_back(pages * page_bytes, Purpose::kv);
    for (size_t i = pages; i-- > 0;) free.push_back(slabs.back().data() + i * page_bytes);
  }
};

KvPool::KvPool(size_t page_bytes) : slabs_(std::make_shared<Slabs>()) {
  slabs_->page_bytes = std::max<size_t>(64, (page_bytes + 63) / 64 * 64);
}

KvPage KvPool::allocate() {
  std::byte* page = nullptr;
  {
    const std::lock_guard lock(slabs_->mutex);
    if (slabs_->free.empty()) slabs_->grow();
    page = slabs_->free.back();
    slabs_->free.pop_back();
  }
  std::memset(page, 0, slabs_->page_bytes);
  return KvPage(page, [slabs = slabs_](std::byte* returned) {
    const std::lock_guard lock(slabs->mutex);
    slabs->free.push_back(returned);
  });
}

size_t KvPool::page_bytes() const { return slabs_->page_bytes; }

}  // namespace terrace::memory
