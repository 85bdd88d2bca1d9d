#include "ggml_peer.h"

#include <dlfcn.h>
#include <strings.h>

#include <algorithm>
#include <stdexcept>

#include "base/cpu.h"

using namespace terrace;

namespace {

template <class Function>
void find(void* library, const char* name, Function& function) {
  void* symbol = dlsym(library, name);
  if (!symbol) throw std::runtime_error(dlerror());
  function = reinterpret_cast<Function>(symbol);
}

}  // namespace

GgmlPeer::GgmlPeer(const std::string& library, size_t threads)
    : team_(threads > 0 ? threads : usable_cores().size(), usable_cores()) {
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) throw std::runtime_error(dlerror());
  void (*init)() = nullptr;
  find(handle, "ggml_cpu_init", init);
  find(handle, "ggml_get_type_traits_cpu", traits_);
  find(handle, "ggml_row_size", row_size_);
  find(handle, "ggml_type_name", type_name_);
  init();
}

bool GgmlPeer::has(const format::BlockType& type) const {
  if (format::is_own_type(type.code)) return false;  // it reads past its table
  const auto code = static_cast<int>(type.code);
  return strcasecmp(type_name_(code), std::string(type.name).c_str()) == 0 && traits_(code)->vec_dot;
}

void GgmlPeer::multiply(const format::BlockType& type, std::span<const std::byte> weights, std::span<const float> x,
                        std::span<float> out) {
  const Traits& traits = *traits_(static_cast<int>(type.code));
  const auto inputs = static_cast<int64_t>(x.size());
  quantized_.resize(row_size_(traits.vec_dot_type, inputs));
  traits_(traits.vec_dot_type)->from_float(x.data(), quantized_.data(), inputs);
  const size_t row_bytes = x.size() / type.values * type.bytes;
  team_.for_each(out.size(), std::max<size_t>(1, out.size() / (team_.size() * 8)), [&](size_t first, size_t last) {
    for (size_t r = first; r < last; ++r)
      traits.vec_dot(static_cast<int>(inputs), &out[r], 0, &weights[r * row_bytes], 0, quantized_.data(), 0, 1);
  });
}
