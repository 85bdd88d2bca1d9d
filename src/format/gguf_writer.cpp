#include "format/gguf_writer.h"

#include <bit>
#include <cstring>

#include "format/block_type.h"

namespace terrace::format {
namespace {

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_string(std::string& out, std::string_view text) {
  put(out, static_cast<uint64_t>(text.size()));
  out += text;
}

/// Writes a widened number in the width of its type.
template <class Number>
void put_number(std::string& out, GgufType type, Number value) {
  switch (type) {
    case GgufType::u8:
    case GgufType::boolean:
      return put(out, static_cast<uint8_t>(value));
    case GgufType::i8:
      return put(out, static_cast<int8_t>(value));
    case GgufType::u16:
      return put(out, static_cast<uint16_t>(value));
    case GgufType::i16:
      return put(out, static_cast<int16_t>(value));
    case GgufType::u32:
      return put(out, static_cast<uint32_t>(value));
    case GgufType::i32:
      return put(out, static_cast<int32_t>(value));
    case GgufType::u64:
      return put(out, static_cast<uint64_t>(value));
    case GgufType::i64:
      return put(out, static_cast<int64_t>(value));
    case GgufType::f32:
      return put(out, static_cast<float>(value));
    default:
      return put(out, static_cast<double>(value));
  }
}

void put_array(std::string& out, const GgufArray& array) {
  put(out, static_cast<uint32_t>(array.type));
  put(out, static_cast<uint64_t>(array.size()));
  for (const int64_t number : array.integers) put_number(out, array.type, number);
  for (const double number : array.floats) put_number(out, array.type, number);
  for (const std::string& text : array.strings) put_string(out, text);
  for (const GgufArray& child : array.arrays) put_array(out, child);
}

void put_entry(std::string& out, const GgufEntry& entry) {
  put_string(out, entry.key);
  put(out, static_cast<uint32_t>(entry.type));
  std::visit(
      [&](const auto& value) {
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, std::string>)
          put_string(out, value);
        else if constexpr (std::is_same_v<Value, std::shared_ptr<const GgufArray>>)
          put_array(out, *value);
        else
          put_number(out, entry.type, value);
      },
      entry.value);
}

uint64_t padding(uint64_t size, uint64_t alignment) { return (alignment - size % alignment) % alignment; }

}  // namespace

std::string serialize_gguf_header(const GgufMetadata& metadata, const std::vector<GgufTensor>& tensors,
                                  uint64_t alignment) {
  std::string out = "GGUF";
  put(out, uint32_t{3});
  put(out, static_cast<uint64_t>(tensors.size()));
  put(out, static_cast<uint64_t>(metadata.entries().size()));
  for (const GgufEntry& entry : metadata.entries()) put_entry(out, entry);
  uint64_t offset = 0;
  for (const GgufTensor& tensor : tensors) {
    put_string(out, tensor.name);
    put(out, static_cast<uint32_t>(tensor.shape.size()));
    for (const uint64_t size : tensor.shape) put(out, size);
    put(out, tensor.type);
    put(out, offset);
    const BlockType& type = *find_block_type(tensor.type);
    const uint64_t size = tensor.elements() / type.values * type.bytes;
    offset += size + padding(size, alignment);
  }
  return out;
}

Result<GgufWriter> GgufWriter::create(const std::string& path, const GgufMetadata& metadata,
                                      const std::vector<GgufTensor>& tensors) {
  TERRACE_TRY(const uint64_t alignment, metadata.integer_or("general.alignment", 32));
  if (!std::has_single_bit(alignment) || alignment > kMaximumGgufAlignment) {
    return fail("{}: general.alignment is {}, not a power of two up to {}", path, alignment, kMaximumGgufAlignment);
  }
  std::vector<uint64_t> sizes;
  for (const GgufTensor& tensor : tensors) {
    const BlockType* type = find_block_type(tensor.type);
    if (!type || tensor.shape.empty() || tensor.shape[0] % type->values != 0) {
      return fail("{}: tensor '{}' cannot be stored in type {}: its rows are no multiple of the block", path,
                  tensor.name, tensor.type);
    }
    sizes.push_back(tensor.elements() / type->values * type->bytes);
  }
  TERRACE_TRY(auto file, OutputFile::create(path));
  std::string header = serialize_gguf_header(metadata, tensors, alignment);
  header.append(padding(header.size(), alignment), '\0');
  TERRACE_CHECK(file.write(header));
  return GgufWriter(std::move(file), std::move(sizes), alignment);
}

Status GgufWriter::pad() {
  const std::string zeros(padding(sizes_[current_], alignment_), '\0');
  written_ = 0;
  ++current_;
  return file_.write(zeros);
}

Status GgufWriter::write(std::span<const std::byte> piece) {
  while (!piece.empty()) {
    if (current_ == sizes_.size()) return fail("more tensor data was written than the header announces");
    const auto part = piece.first(std::min<uint64_t>(piece.size(), sizes_[current_] - written_));
    TERRACE_CHECK(file_.write(part));
    written_ += part.size();
    piece = piece.subspan(part.size());
    if (written_ == sizes_[current_]) TERRACE_CHECK(pad());
  }
  return Done{};
}

Status GgufWriter::finish() {
  if (current_ != sizes_.size()) return fail("the data of {} tensors is missing", sizes_.size() - current_);
  return file_.commit();
}

}  // namespace terrace::format
