#include "format/gguf.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>

#include "base/file.h"
#include "format/block_type.h"

static_assert(std::endian::native == std::endian::little, "GGUF files are read as little endian in place");

namespace terrace::format {
namespace {

constexpr size_t kMaximumNesting = 8;  // arrays in arrays; public files have none

constexpr size_t scalar_bytes(GgufType type) {
  switch (type) {
    case GgufType::u8:
    case GgufType::i8:
    case GgufType::boolean:
      return 1;
    case GgufType::u16:
    case GgufType::i16:
      return 2;
    case GgufType::u32:
    case GgufType::i32:
    case GgufType::f32:
      return 4;
    case GgufType::u64:
    case GgufType::i64:
    case GgufType::f64:
      return 8;
    default:
      return 0;
  }
}

/// Reads a header front to back. Every count is checked against the bytes that are left before anything is allocated.
class HeaderReader {
 public:
  explicit HeaderReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  size_t offset() const { return offset_; }
  size_t left() const { return bytes_.size() - offset_; }

  template <class T>
  Result<T> scalar(std::string_view field) {
    if (left() < sizeof(T)) return fail("GGUF: the file ends inside {} at offset {}", field, offset_);
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof value);
    offset_ += sizeof value;
    return value;
  }

  Result<std::string> string(std::string_view field) {
    const size_t start = offset_;
    TERRACE_TRY(const auto length, scalar<uint64_t>(field));
    if (length > left()) {
      return fail("GGUF: {} at offset {} claims a length of {} bytes, but only {} are left in the file", field, start,
                  length, left());
    }
    std::string text(reinterpret_cast<const char*>(bytes_.data() + offset_), length);
    offset_ += length;
    return text;
  }

  Result<GgufType> type(std::string_view field) {
    const size_t start = offset_;
    TERRACE_TRY(const auto code, scalar<uint32_t>(field));
    if (code > static_cast<uint32_t>(GgufType::f64))
      return fail("GGUF: {} at offset {} has the unknown value type {}", field, start, code);
    return static_cast<GgufType>(code);
  }

  /// Reads a value of that type into `value`.
  Status value(GgufType type, std::string_view field, GgufValue& value) {
    if (type == GgufType::string) {
      TERRACE_TRY(value, string(field));
    } else if (type == GgufType::array) {
      TERRACE_TRY(auto array, this->array(field, 1));
      value = std::make_shared<const GgufArray>(std::move(array));
    } else if (type == GgufType::f32) {
      TERRACE_TRY(value, scalar<float>(field));
    } else if (type == GgufType::f64) {
      TERRACE_TRY(value, scalar<double>(field));
    } else if (type == GgufType::u64) {
      TERRACE_TRY(value, scalar<uint64_t>(field));
    } else {
      TERRACE_TRY(const int64_t number, small_integer(type, field));
      if (type == GgufType::boolean) {
        value = number == 1;
      } else if (type == GgufType::i8 || type == GgufType::i16 || type == GgufType::i32 || type == GgufType::i64) {
        value = number;
      } else {
        value = static_cast<uint64_t>(number);
      }
    }
    return Done{};
  }

 private:
  template <class T>
  Result<int64_t> widened(std::string_view field) {
    TERRACE_TRY(const T number, scalar<T>(field));
    return static_cast<int64_t>(number);
  }

  Result<int64_t> boolean(std::string_view field) {
    const size_t start = offset_;
    TERRACE_TRY(const auto byte, scalar<uint8_t>(field));
    if (byte > 1) return fail("GGUF: {} at offset {} is a boolean of value {}", field, start, byte);
    return int64_t{byte};
  }

  /// Any integer or boolean but u64, which may not fit.
  Result<int64_t> small_integer(GgufType type, std::string_view field) {
    switch (type) {
      case GgufType::i8:
        return widened<int8_t>(field);
      case GgufType::u16:
        return widened<uint16_t>(field);
      case GgufType::i16:
        return widened<int16_t>(field);
      case GgufType::u32:
        return widened<uint32_t>(field);
      case GgufType::i32:
        return widened<int32_t>(field);
      case GgufType::i64:
        return widened<int64_t>(field);
      case GgufType::u8:
        return widened<uint8_t>(field);
      default:
        return boolean(field);
    }
  }

  Result<GgufArray> array(std::string_view field, size_t depth) {
    if (depth > kMaximumNesting)
      return fail("GGUF: {} at offset {} nests arrays deeper than {}", field, offset_, kMaximumNesting);
    GgufArray array;
    TERRACE_TRY(array.type, type(field));
    const size_t start = offset_;
    TERRACE_TRY(const auto count, scalar<uint64_t>(field));
    const size_t smallest = array.type == GgufType::string  ? 8
                            : array.type == GgufType::array ? 12
                                                            : scalar_bytes(array.type);
    if (count > left() / smallest) {
      return fail("GGUF: {} at offset {} claims {} elements, but only {} bytes are left in the file", field, start,
                  count, left());
    }
    for (uint64_t i = 0; i < count; ++i) TERRACE_CHECK(element(array, field, depth));
    return array;
  }

  Status element(GgufArray& array, std::string_view field, size_t depth) {
    if (array.type == GgufType::array) {
      TERRACE_TRY(auto child, this->array(field, depth + 1));
      array.arrays.push_back(std::move(child));
      return Done{};
    }
    const size_t start = offset_;
    if (array.type == GgufType::string) {
      TERRACE_TRY(auto text, string(field));
      array.strings.push_back(std::move(text));
    } else if (array.type == GgufType::f32) {
      TERRACE_TRY(const auto number, scalar<float>(field));
      array.floats.push_back(number);
    } else if (array.type == GgufType::f64) {
      TERRACE_TRY(const auto number, scalar<double>(field));
      array.floats.push_back(number);
    } else if (array.type == GgufType::u64) {
      TERRACE_TRY(const auto number, scalar<uint64_t>(field));
      if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return fail("GGUF: {} at offset {} holds {}, which is above 2^63", field, start, number);
      }
      array.integers.push_back(static_cast<int64_t>(number));
    } else {
      TERRACE_TRY(const auto number, small_integer(array.type, field));
      array.integers.push_back(number);
    }
    return Done{};
  }

  std::span<const std::byte> bytes_;
  size_t offset_ = 0;
};

Status read_metadata(HeaderReader& reader, uint64_t count, GgufHeader& header) {
  for (uint64_t i = 0; i < count; ++i) {
    const size_t start = reader.offset();
    TERRACE_TRY(auto key, reader.string(fmt::format("the key of metadata entry {}", i)));
    if (key.empty() || key.size() > 65535)
      return fail("GGUF: metadata entry {} at offset {} has a key of {} bytes", i, start, key.size());
    if (header.metadata.contains(key))
      return fail("GGUF: the metadata key '{}' at offset {} appears twice", key, start);
    const std::string field = fmt::format("metadata '{}'", key);
    TERRACE_TRY(const auto type, reader.type(field));
    GgufEntry entry{std::move(key), type, {}};
    TERRACE_CHECK(reader.value(type, field, entry.value));
    header.metadata.set(std::move(entry));
  }
  TERRACE_TRY(header.alignment, header.metadata.integer_or("general.alignment", 32));
  if (!std::has_single_bit(header.alignment) || header.alignment > kMaximumGgufAlignment) {
    return fail("GGUF: general.alignment is {}, not a power of two up to {}", header.alignment, kMaximumGgufAlignment);
  }
  return Done{};
}

Result<GgufTensor> read_tensor(HeaderReader& reader, uint64_t index) {
  GgufTensor tensor;
  const size_t start = reader.offset();
  TERRACE_TRY(tensor.name, reader.string(fmt::format("the name of tensor {}", index)));
  if (tensor.name.empty() || tensor.name.size() > 255) {
    return fail("GGUF: tensor {} at offset {} has a name of {} bytes", index, start, tensor.name.size());
  }
  const std::string field = fmt::format("tensor '{}'", tensor.name);
  size_t at = reader.offset();
  TERRACE_TRY(const auto dimensions, reader.scalar<uint32_t>(field));
  if (dimensions < 1 || dimensions > 4)
    return fail("GGUF: {} at offset {} has {} dimensions; 1 to 4 are possible", field, at, dimensions);
  uint64_t elements = 1;
  for (uint32_t d = 0; d < dimensions; ++d) {
    at = reader.offset();
    TERRACE_TRY(const auto size, reader.scalar<uint64_t>(field));
    if (size == 0 || size > (uint64_t{1} << 48) || elements > (uint64_t{1} << 48) / size) {
      return fail("GGUF: {} at offset {} has the impossible size {} in dimension {}", field, at, size, d);
    }
    elements *= size;
    tensor.shape.push_back(size);
  }
  at = reader.offset();
  TERRACE_TRY(tensor.type, reader.scalar<uint32_t>(field));
  const BlockType* type = find_block_type(tensor.type);
  if (!type) return fail("GGUF: {} at offset {} has the unknown type {}", field, at, tensor.type);
  if (tensor.shape[0] % type->values != 0) {
    return fail("GGUF: {} at offset {} has rows of {} values, no multiple of {}'s blocks of {}", field, at,
                tensor.shape[0], type->name, type->values);
  }
  at = reader.offset();
  TERRACE_TRY(tensor.offset, reader.scalar<uint64_t>(field));
  return tensor;
}

/// Places each tensor in the file's data and refuses those that lie outside, are unaligned or overlap.
Status place_tensors(std::span<const std::byte> bytes, GgufHeader& header) {
  const uint64_t available = bytes.size() - header.data_offset;
  std::vector<std::pair<uint64_t, const GgufTensor*>> order;
  for (GgufTensor& tensor : header.tensors) {
    const BlockType& type = *find_block_type(tensor.type);
    const uint64_t size = tensor.elements() / type.values * type.bytes;
    if (tensor.offset % header.alignment != 0) {
      return fail("GGUF: tensor '{}' starts at data offset {}, no multiple of the alignment {}", tensor.name,
                  tensor.offset, header.alignment);
    }
    if (tensor.offset > available || size > available - tensor.offset) {
      return fail(
          "GGUF: tensor '{}' needs {} bytes at data offset {}, but the file has only {} bytes of data: it is truncated "
          "or damaged",
          tensor.name, size, tensor.offset, available);
    }
    tensor.data = bytes.subspan(header.data_offset + tensor.offset, size);
    order.emplace_back(tensor.offset, &tensor);
  }
  std::sort(order.begin(), order.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 1; i < order.size(); ++i) {
    const GgufTensor& before = *order[i - 1].second;
    if (before.offset + before.data.size() > order[i].first) {
      return fail("GGUF: tensor '{}' at data offset {} overlaps tensor '{}'", order[i].second->name, order[i].first,
                  before.name);
    }
  }
  return Done{};
}

}  // namespace

std::string_view gguf_type_name(GgufType type) {
  constexpr std::string_view names[] = {"u8",   "i8",  "u16", "i16", "u32", "i32", "f32",
                                        "bool", "str", "arr", "u64", "i64", "f64"};
  return names[static_cast<size_t>(type)];
}

uint64_t GgufTensor::elements() const {
  uint64_t count = 1;
  for (const uint64_t size : shape) count *= size;
  return count;
}

Result<GgufHeader> parse_gguf(std::span<const std::byte> bytes) {
  HeaderReader reader(bytes);
  GgufHeader header;
  TERRACE_TRY(const auto magic, reader.scalar<uint32_t>("the magic number"));
  if (magic != 0x46554747) return fail("GGUF: the file does not begin with 'GGUF' at offset 0; it is no GGUF model");
  TERRACE_TRY(header.version, reader.scalar<uint32_t>("the version"));
  if (header.version != 2 && header.version != 3) {
    return fail("GGUF: version {} at offset 4 is not supported (2 and 3 are){}", header.version,
                (header.version & 0xffff) == 0 ? "; the file may be big endian" : "");
  }
  TERRACE_TRY(const auto tensor_count, reader.scalar<uint64_t>("the tensor count"));
  TERRACE_TRY(const auto entry_count, reader.scalar<uint64_t>("the metadata count"));
  constexpr uint64_t smallest_tensor = 8 + 4 + 8 + 4 + 8, smallest_entry = 8 + 4 + 1;
  if (tensor_count > reader.left() / smallest_tensor) {
    return fail("GGUF: the tensor count at offset 8 is {}, more than the file's {} bytes can describe", tensor_count,
                bytes.size());
  }
  if (entry_count > reader.left() / smallest_entry) {
    return fail("GGUF: the metadata count at offset 16 is {}, more than the file's {} bytes can hold", entry_count,
                bytes.size());
  }
  TERRACE_CHECK(read_metadata(reader, entry_count, header));
  std::map<std::string, size_t, std::less<>> names;
  for (uint64_t i = 0; i < tensor_count; ++i) {
    const size_t start = reader.offset();
    TERRACE_TRY(auto tensor, read_tensor(reader, i));
    if (!names.emplace(tensor.name, i).second)
      return fail("GGUF: the tensor name '{}' at offset {} appears twice", tensor.name, start);
    header.tensors.push_back(std::move(tensor));
  }
  header.data_offset = (reader.offset() + header.alignment - 1) / header.alignment * header.alignment;
  if (header.tensors.empty()) {
    header.data_offset = std::min<uint64_t>(header.data_offset, bytes.size());
  } else if (header.data_offset > bytes.size()) {
    return fail("GGUF: the file ends at offset {}, before its tensor data at {}", bytes.size(), header.data_offset);
  }
  TERRACE_CHECK(place_tensors(bytes, header));
  return header;
}

struct GgufFile::Shards {
  std::vector<MappedFile> files;
  std::vector<std::string> paths;
  /// The shard whose mapping holds a part of a tensor.
  size_t of(std::span<const std::byte> part) const {
    size_t shard = 0;
    for (; shard + 1 < files.size(); ++shard) {
      const auto bytes = files[shard].bytes();
      if (part.data() >= bytes.data() && part.data() < bytes.data() + bytes.size()) break;
    }
    return shard;
  }
};

GgufFile::GgufFile() : shards_(std::make_unique<Shards>()) {}
GgufFile::~GgufFile() = default;
GgufFile::GgufFile(GgufFile&&) noexcept = default;
GgufFile& GgufFile::operator=(GgufFile&&) noexcept = default;

namespace {

/// "model-00001-of-00003.gguf" with 1 replaced by `number` (from 1), or an error when the name has no such form.
Result<std::string> shard_path(const std::string& path, uint64_t number, uint64_t count) {
  const std::string ending = fmt::format("-of-{:05}.gguf", count);
  const size_t tail = ending.size() + 6;
  if (path.size() < tail || path.substr(path.size() - ending.size()) != ending || path[path.size() - tail] != '-') {
    return fail("{}: the file says it is one of {} shards, but its name does not end in -0000N{}", path, count, ending);
  }
  return fmt::format("{}-{:05}{}", path.substr(0, path.size() - tail), number, ending);
}

Result<GgufHeader> parse_file(const MappedFile& file, const std::string& path) {
  auto header = parse_gguf(file.bytes());
  if (!header) return fail("{}: {}", path, header.error().message);
  return header;
}

}  // namespace

Result<GgufFile> GgufFile::open(const std::string& path) {
  GgufFile result;
  uint64_t shard_count = 1;
  for (uint64_t shard = 0; shard < shard_count; ++shard) {
    std::string name = path;
    if (shard_count > 1) {
      TERRACE_TRY(name, shard_path(path, shard + 1, shard_count));
    }
    TERRACE_TRY(auto file, MappedFile::open(name));
    TERRACE_TRY(auto header, parse_file(file, name));
    TERRACE_TRY(const uint64_t number, header.metadata.integer_or("split.no", 0));
    TERRACE_TRY(const uint64_t count, header.metadata.integer_or("split.count", 1));
    if (shard == 0) {
      if (count > 99999) return fail("{}: split.count is {}", name, count);
      shard_count = std::max<uint64_t>(count, 1);
      if (number != 0)
        return fail("{}: this is shard {} of {}; open the first one, -00001-of-{:05}.gguf", name, number + 1, count,
                    count);
      result.metadata_ = header.metadata;
      result.version_ = header.version;
    } else if (number != shard || count != shard_count) {
      return fail("{}: says it is shard {} of {}, expected {} of {}", name, number + 1, count, shard + 1, shard_count);
    }
    result.file_bytes_ += file.bytes().size();
    for (GgufTensor& tensor : header.tensors) {
      if (!result.index_.emplace(tensor.name, result.tensors_.size()).second) {
        return fail("{}: tensor '{}' is also in an earlier shard", name, tensor.name);
      }
      result.tensors_.push_back(std::move(tensor));
    }
    result.shards_->files.push_back(std::move(file));
    result.shards_->paths.push_back(name);
  }
  TERRACE_TRY(const uint64_t expected, result.metadata_.integer_or("split.tensors.count", result.tensors_.size()));
  if (expected != result.tensors_.size()) {
    return fail("{}: split.tensors.count is {}, but the shards hold {} tensors", path, expected,
                result.tensors_.size());
  }
  return result;
}

const GgufTensor* GgufFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors_[found->second];
}

GgufFile::Location GgufFile::location(const GgufTensor& tensor) const {
  const size_t shard = shards_->of(tensor.data);
  return {shards_->paths[shard], static_cast<uint64_t>(tensor.data.data() - shards_->files[shard].bytes().data())};
}

void GgufFile::release(std::span<const std::byte> part) const { shards_->files[shards_->of(part)].release(part); }

}  // namespace terrace::format
