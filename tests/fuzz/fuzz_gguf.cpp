// Any bytes as a GGUF file: an error or a header whose tensors lie inside the bytes, do not overlap and can be read.
#include <algorithm>
#include <cstdint>

#include "format/block_type.h"
#include "format/gguf.h"
#include "format/gguf_writer.h"

namespace {

void require(bool condition) {
  if (!condition) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace terrace::format;  // NOLINT(google-build-using-namespace)
  const auto bytes = std::as_bytes(std::span(data, size));
  const auto header = parse_gguf(bytes);
  if (!header) {
    require(!header.error().message.empty());
    return 0;
  }
  uint64_t total = 0;
  for (const GgufTensor& tensor : header->tensors) {
    const BlockType* type = find_block_type(tensor.type);
    require(type && tensor.data.size() == tensor.elements() / type->values * type->bytes);
    require(tensor.data.data() >= bytes.data() + header->data_offset);
    require(tensor.data.data() + tensor.data.size() <= bytes.data() + size);
    total += tensor.data.size();
    if (!type->codec) continue;
    float values[256];
    type->codec->decode(tensor.data.data(), values);
    type->codec->decode(tensor.data.data() + tensor.data.size() - type->bytes, values);
  }
  require(total <= size);
  // What was read can be written and read again.
  const std::string again = serialize_gguf_header(header->metadata, header->tensors, header->alignment);
  require(header->version != 3 || again.size() <= size);
  for (const GgufEntry& entry : header->metadata.entries()) {
    require(header->metadata.find(entry.key) == &entry);
    (void)header->metadata.integer(entry.key);
    (void)header->metadata.number(entry.key);
    (void)header->metadata.array(entry.key);
  }
  return 0;
}
