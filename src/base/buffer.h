// Large memory: page-aligned, zeroed, in huge pages where the system has them, and accounted by purpose.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace terrace {

/// What a buffer is for: a row of the table that `terrace inspect --memory` prints.
enum class Purpose { weights, kv, states, activations, logits, other };
inline constexpr Purpose kPurposes[] = {Purpose::weights,     Purpose::kv,     Purpose::states,
                                        Purpose::activations, Purpose::logits, Purpose::other};
std::string_view purpose_name(Purpose purpose);

/// Bytes now held by all buffers of a purpose.
uint64_t bytes_held(Purpose purpose);

/// Owns zeroed memory. Aborts when the address space cannot be reserved: callers bound sizes by their inputs first.
class Buffer {
 public:
  Buffer() = default;
  Buffer(size_t bytes, Purpose purpose);
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  ~Buffer();

  std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  template <class T>
  T* as() const {
    return reinterpret_cast<T*>(data_);
  }

 private:
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  size_t mapped_ = 0;
  Purpose purpose_ = Purpose::other;
};

}  // namespace terrace
