// Any bytes as a safetensors file: an error or arrays that lie inside the bytes and have the sizes their shapes give.
#include <cstdint>

#include "format/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto arrays = terrace::format::parse_safetensors(bytes);
  if (!arrays) return arrays.error().message.empty() ? __builtin_trap(), 0 : 0;
  for (const auto& [name, array] : *arrays) {
    uint64_t elements = 1;
    for (const uint64_t dimension : array.shape) elements *= dimension;
    const bool inside = array.data.empty() || (array.data.data() >= bytes.data() &&
                                               array.data.data() + array.data.size() <= bytes.data() + size);
    if (!inside || (elements == 0 ? !array.data.empty() : array.data.size() % elements != 0)) __builtin_trap();
  }
  return 0;
}
