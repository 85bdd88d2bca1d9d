// GGUF, the file format of llama.cpp's models: metadata and tensors. Versions 2 and 3, little endian.
// Source: the format's specification, docs/gguf.md of the ggml repository.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"

namespace terrace::format {

constexpr uint64_t kMaximumGgufAlignment = 1 << 20;

/// Type codes of metadata values, as in the file.
enum class GgufType : uint32_t {
  u8 = 0,
  i8 = 1,
  u16 = 2,
  i16 = 3,
  u32 = 4,
  i32 = 5,
  f32 = 6,
  boolean = 7,
  string = 8,
  array = 9,
  u64 = 10,
  i64 = 11,
  f64 = 12
};

/// The name used in messages and by `terrace inspect`: "u32", "str", "arr", ...
std::string_view gguf_type_name(GgufType type);

struct GgufArray;
/// A metadata value. Integers are widened to 64 bits and floats to double; `GgufEntry::type` keeps the file's type.
using GgufValue = std::variant<uint64_t, int64_t, double, bool, std::string, std::shared_ptr<const GgufArray>>;

/// A metadata array. Exactly one of the containers is filled, chosen by `type`.
struct GgufArray {
  GgufType type = GgufType::u8;
  std::vector<int64_t> integers;     ///< u8..i64, bool (u64 above 2^63 is refused by the reader)
  std::vector<double> floats;        ///< f32, f64
  std::vector<std::string> strings;  ///< string
  std::vector<GgufArray> arrays;     ///< array
  size_t size() const { return integers.size() + floats.size() + strings.size() + arrays.size(); }
};

struct GgufEntry {
  std::string key;
  GgufType type = GgufType::u32;
  GgufValue value;
};

/// The metadata of a file, in file order, with typed look-ups. Every getter accepts any integer (or float) width.
class GgufMetadata {
 public:
  const std::vector<GgufEntry>& entries() const { return entries_; }
  bool contains(std::string_view key) const { return index_.find(key) != index_.end(); }
  const GgufEntry* find(std::string_view key) const;

  /// The value of `key`, or an error that names the key when it is missing or has another type.
  Result<uint64_t> integer(std::string_view key) const;
  Result<double> number(std::string_view key) const;  ///< a float or an integer
  Result<bool> boolean(std::string_view key) const;
  Result<std::string> string(std::string_view key) const;
  Result<const GgufArray*> array(std::string_view key) const;

  /// As above with a default for a missing key; a present key of another type is still an error.
  Result<uint64_t> integer_or(std::string_view key, uint64_t fallback) const;
  Result<double> number_or(std::string_view key, double fallback) const;
  Result<bool> boolean_or(std::string_view key, bool fallback) const;
  Result<std::string> string_or(std::string_view key, std::string fallback) const;

  /// Adds an entry, or replaces the one of that key.
  void set(GgufEntry entry);
  void set(std::string key, uint32_t value) { set({std::move(key), GgufType::u32, uint64_t{value}}); }
  void set(std::string key, float value) { set({std::move(key), GgufType::f32, double{value}}); }
  void set(std::string key, bool value) { set({std::move(key), GgufType::boolean, value}); }
  void set(std::string key, std::string value) { set({std::move(key), GgufType::string, std::move(value)}); }
  void set(std::string key, const char* value) { set(std::move(key), std::string(value)); }
  void set(std::string key, GgufArray value) {
    set({std::move(key), GgufType::array, std::make_shared<const GgufArray>(std::move(value))});
  }

 private:
  std::vector<GgufEntry> entries_;
  std::map<std::string, size_t, std::less<>> index_;
};

/// One tensor of a file. `shape` is in GGUF order: shape[0] is the row length (contiguous), shape[1] the rows, shape[2]
/// the matrices.
struct GgufTensor {
  std::string name;
  uint32_t type = 0;                ///< ggml type code; see format/block_type.h
  std::vector<uint64_t> shape;      ///< 1 to 4 dimensions
  uint64_t offset = 0;              ///< from the start of the file's tensor data
  std::span<const std::byte> data;  ///< the tensor's bytes
  uint64_t elements() const;
};

/// What a GGUF header (the file up to its tensor data) says; tensors carry no data yet.
struct GgufHeader {
  uint32_t version = 3;
  uint64_t alignment = 32;
  uint64_t data_offset = 0;  ///< of the tensor data from the start of the file
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;
};

/// Parses and checks a whole GGUF in memory; `bytes` must outlive the result. Every refusal names the field and its
/// offset.
Result<GgufHeader> parse_gguf(std::span<const std::byte> bytes);

/// A model file with its shards (`-00001-of-0000N.gguf`), mapped into memory.
class GgufFile {
 public:
  /// Opens `path` and, for a split file, all its shards. Tensors of all shards appear in one list; the metadata is the
  /// first shard's.
  static Result<GgufFile> open(const std::string& path);
  ~GgufFile();
  GgufFile(GgufFile&&) noexcept;
  GgufFile& operator=(GgufFile&&) noexcept;

  const GgufMetadata& metadata() const { return metadata_; }
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor* find(std::string_view name) const;
  uint32_t version() const { return version_; }
  uint64_t file_bytes() const { return file_bytes_; }  ///< of all shards

  /// The file of a tensor and where its bytes begin there.
  struct Location {
    std::string path;
    uint64_t offset;
  };
  Location location(const GgufTensor& tensor) const;
  /// Tells the system that the pages of `part` of a tensor's data are not needed any more (they come back from the file
  /// when touched).
  void release(std::span<const std::byte> part) const;

 private:
  GgufFile();
  struct Shards;
  std::unique_ptr<Shards> shards_;
  GgufMetadata metadata_;
  std::vector<GgufTensor> tensors_;
  std::map<std::string, size_t, std::less<>> index_;
  uint32_t version_ = 3;
  uint64_t file_bytes_ = 0;
};

}  // namespace terrace::format
