// Pages of keys and values: 64 positions of all layers each, shared by reference count.
#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "base/buffer.h"

namespace terrace::memory {

/// A page goes back to its pool when the last reference to it is dropped. References keep the pool's memory alive.
using KvPage = std::shared_ptr<std::byte>;

/// Hands out pages; thread-safe. Fresh pages are zero, since the values of hidden positions must be finite.
class KvPool {
 public:
  explicit KvPool(size_t page_bytes);
  KvPage allocate();
  size_t page_bytes() const;

 private:
  struct Slabs;
  std::shared_ptr<Slabs> slabs_;
};

}  // namespace terrace::memory
