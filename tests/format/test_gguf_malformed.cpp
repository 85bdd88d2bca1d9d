// Damaged and hostile GGUF files: each is an error that says what and where, found without reading or allocating beyond
// the file.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <functional>
#include <memory>
#include <optional>

#include "format/gguf.h"
#include "support/files.h"

namespace terrace::format {
namespace {

using ::testing::HasSubstr;
using testing::message_of;

/// Bytes written field by field.
class Bytes {
 public:
  template <class T>
  Bytes& put(T value) {
    text_.append(reinterpret_cast<const char*>(&value), sizeof value);
    return *this;
  }
  Bytes& u32(uint32_t value) { return put(value); }
  Bytes& u64(uint64_t value) { return put(value); }
  Bytes& string(const std::string& text) {
    u64(text.size());
    return raw(text);
  }
  Bytes& raw(const std::string& text) {
    text_ += text;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

Bytes entry(const std::string& key, uint32_t type) { return Bytes().string(key).u32(type); }
Bytes tensor(const std::string& name, const std::vector<uint64_t>& shape, uint32_t type, uint64_t offset) {
  Bytes bytes = Bytes().string(name).u32(static_cast<uint32_t>(shape.size()));
  for (const uint64_t size : shape) bytes.u64(size);
  return bytes.u32(type).u64(offset);
}

/// A small valid file in parts that a case may change.
struct Small {
  std::string magic = "GGUF";
  uint32_t version = 3;
  std::optional<uint64_t> tensor_count, entry_count;
  std::vector<Bytes> entries = {entry("name", 8).string("small"), entry("number", 4).u32(7),
                                entry("list", 9).u32(3).u64(2).put(int16_t{1}).put(int16_t{-2}),
                                entry("flag", 7).put(uint8_t{1})};
  std::vector<Bytes> tensors = {tensor("a", {4}, 0, 0), tensor("b", {32, 2}, 8, 32)};
  size_t alignment = 32;
  std::string data = std::string(32 + 68, 'd');

  std::string bytes() const {
    Bytes file = Bytes()
                     .raw(magic)
                     .u32(version)
                     .u64(tensor_count.value_or(tensors.size()))
                     .u64(entry_count.value_or(entries.size()));
    for (const Bytes& part : entries) file.raw(part.text());
    for (const Bytes& part : tensors) file.raw(part.text());
    file.raw(std::string((alignment - file.text().size() % alignment) % alignment, '\0'));
    return file.raw(data).text();
  }
};

/// Parses a copy of exactly the file's size, so that a sanitizer sees the first byte read beyond it.
Result<GgufHeader> parse(const std::string& file) {
  const std::unique_ptr<std::byte[]> copy(new std::byte[file.size()]);
  std::memcpy(copy.get(), file.data(), file.size());
  auto header = parse_gguf({copy.get(), file.size()});
  if (header) {
    size_t sum = 0;
    for (const GgufTensor& found : header->tensors)
      for (const std::byte byte : found.data) sum += std::to_integer<size_t>(byte);
    EXPECT_LT(sum, file.size() * 256);
  }
  return header;
}

Bytes nested(size_t depth) {
  Bytes bytes = entry("deep", 9);
  for (size_t i = 0; i < depth; ++i) bytes.u32(9).u64(1);
  return bytes.u32(0).u64(0);
}

constexpr uint64_t kHuge = uint64_t{1} << 63;
constexpr uint64_t kAll = ~uint64_t{0};

struct Case {
  const char* name;
  std::function<void(Small&)> change;
  const char* words;
};

const Case kCases[] = {
    {"magic", [](Small& s) { s.magic = "GGML"; }, "does not begin with 'GGUF' at offset 0"},
    {"version 0", [](Small& s) { s.version = 0; }, "version 0 at offset 4"},
    {"version 1", [](Small& s) { s.version = 1; }, "version 1 at offset 4"},
    {"version 4", [](Small& s) { s.version = 4; }, "version 4 at offset 4"},
    {"big endian", [](Small& s) { s.version = 3U << 24; }, "may be big endian"},
    {"tensor count 2^63", [](Small& s) { s.tensor_count = kHuge; }, "tensor count at offset 8 is 9223372036854775808"},
    {"tensor count 2^64-1", [](Small& s) { s.tensor_count = kAll; }, "tensor count at offset 8"},
    {"tensor count + 1", [](Small& s) { s.tensor_count = 3; }, "tensor 2"},
    {"entry count 2^63", [](Small& s) { s.entry_count = kHuge; }, "metadata count at offset 16 is 9223372036854775808"},
    {"entry count 2^64-1", [](Small& s) { s.entry_count = kAll; }, "metadata count at offset 16"},
    {"entry count + 1", [](Small& s) { s.entry_count = 5; }, "tensor 0 at offset 138 has a name of 0 bytes"},
    {"key length 2^63", [](Small& s) { s.entries[0] = Bytes().u64(kHuge).raw("name"); },
     "the key of metadata entry 0 at offset 24"},
    {"no key", [](Small& s) { s.entries[0] = entry("", 4).u32(1); },
     "metadata entry 0 at offset 24 has a key of 0 bytes"},
    {"long key", [](Small& s) { s.entries[0] = entry(std::string(65536, 'k'), 4).u32(1); }, "has a key of 65536 bytes"},
    {"string length 2^63", [](Small& s) { s.entries[0] = entry("name", 8).u64(kHuge); },
     "'name' at offset 40 claims a length of"},
    {"string length 2^64-1", [](Small& s) { s.entries[0] = entry("name", 8).u64(kAll); },
     "'name' at offset 40 claims a length of"},
    {"array count 2^63", [](Small& s) { s.entries[2] = entry("list", 9).u32(3).u64(kHuge); }, "'list' at offset"},
    {"array count 2^61", [](Small& s) { s.entries[2] = entry("list", 9).u32(10).u64(kHuge / 4); },
     "claims 2305843009213693952 elements"},
    {"array count 2^28", [](Small& s) { s.entries[2] = entry("list", 9).u32(0).u64(1 << 28); },
     "claims 268435456 elements"},
    {"string array count", [](Small& s) { s.entries[2] = entry("list", 9).u32(8).u64(1 << 28); },
     "claims 268435456 elements"},
    {"array array count", [](Small& s) { s.entries[2] = entry("list", 9).u32(9).u64(1 << 28); },
     "claims 268435456 elements"},
    {"value type 13", [](Small& s) { s.entries[1] = entry("number", 13).u32(7); }, "'number' at offset"},
    {"value type 2^32-1", [](Small& s) { s.entries[1] = entry("number", ~0U).u32(7); },
     "unknown value type 4294967295"},
    {"element type 13", [](Small& s) { s.entries[2] = entry("list", 9).u32(13).u64(0); }, "unknown value type 13"},
    {"boolean 7", [](Small& s) { s.entries[3] = entry("flag", 7).put(uint8_t{7}); }, "is a boolean of value 7"},
    {"boolean 2 in an array", [](Small& s) { s.entries[3] = entry("flag", 9).u32(7).u64(1).put(uint8_t{2}); },
     "boolean of value 2"},
    {"u64 element 2^63", [](Small& s) { s.entries[2] = entry("list", 9).u32(10).u64(1).u64(kHuge); }, "is above"},
    {"same key twice", [](Small& s) { s.entries[1] = entry("name", 4).u32(7); },
     "key 'name' at offset 53 appears twice"},
    {"deep array", [](Small& s) { s.entries[2] = nested(20); }, "nests arrays deeper than 8"},
    {"very deep array", [](Small& s) { s.entries[2] = nested(100000); }, "nests arrays deeper than 8"},
    {"alignment 0", [](Small& s) { s.entries[1] = entry("general.alignment", 4).u32(0); }, "general.alignment is 0"},
    {"alignment 3", [](Small& s) { s.entries[1] = entry("general.alignment", 4).u32(3); }, "general.alignment is 3"},
    {"alignment 2^31", [](Small& s) { s.entries[1] = entry("general.alignment", 4).u32(1U << 31); },
     "general.alignment is 2147483648"},
    {"alignment 2^63", [](Small& s) { s.entries[1] = entry("general.alignment", 10).u64(kHuge); },
     "general.alignment is 9223372036854775808"},
    {"alignment 2^20", [](Small& s) { s.entries[1] = entry("general.alignment", 4).u32(1 << 20); },
     "before its tensor data at 1048576"},
    {"alignment -32", [](Small& s) { s.entries[1] = entry("general.alignment", 5).put(-32); },
     "'general.alignment' is -32"},
    {"alignment as text", [](Small& s) { s.entries[1] = entry("general.alignment", 8).string("32"); },
     "'general.alignment' is of type str"},
    {"tensor name length", [](Small& s) { s.tensors[0] = Bytes().u64(kHuge); }, "the name of tensor 0 at offset"},
    {"no tensor name", [](Small& s) { s.tensors[0] = tensor("", {4}, 0, 0); }, "has a name of 0 bytes"},
    {"long tensor name", [](Small& s) { s.tensors[0] = tensor(std::string(256, 't'), {4}, 0, 0); },
     "has a name of 256 bytes"},
    {"same tensor twice", [](Small& s) { s.tensors[1] = tensor("a", {32, 2}, 8, 32); }, "tensor name 'a' at offset"},
    {"no dimensions", [](Small& s) { s.tensors[0] = tensor("a", {}, 0, 0); },
     "tensor 'a' at offset 133 has 0 dimensions"},
    {"5 dimensions", [](Small& s) { s.tensors[0] = tensor("a", {1, 1, 1, 1, 1}, 0, 0); }, "has 5 dimensions"},
    {"2^32-1 dimensions", [](Small& s) { s.tensors[0] = Bytes().string("a").u32(~0U); }, "has 4294967295 dimensions"},
    {"dimension 0", [](Small& s) { s.tensors[0] = tensor("a", {4, 0}, 0, 0); },
     "has the impossible size 0 in dimension 1"},
    {"dimension 2^63", [](Small& s) { s.tensors[0] = tensor("a", {kHuge}, 0, 0); },
     "impossible size 9223372036854775808 in dimension 0"},
    {"product 2^64", [](Small& s) { s.tensors[0] = tensor("a", {1 << 16, 1 << 16, 1 << 16, 1 << 16}, 0, 0); },
     "in dimension 3"},
    {"product 2^48", [](Small& s) { s.tensors[0] = tensor("a", {uint64_t{1} << 48}, 28, 0); },
     "needs 2251799813685248 bytes"},
    {"tensor type 4", [](Small& s) { s.tensors[0] = tensor("a", {4}, 4, 0); }, "unknown type 4"},
    {"tensor type 2^32-1", [](Small& s) { s.tensors[0] = tensor("a", {4}, ~0U, 0); }, "unknown type 4294967295"},
    {"half a block", [](Small& s) { s.tensors[1] = tensor("b", {16, 4}, 8, 32); },
     "rows of 16 values, no multiple of Q8_0's blocks of 32"},
    {"offset outside", [](Small& s) { s.tensors[1] = tensor("b", {32, 2}, 8, 128); },
     "'b' needs 68 bytes at data offset 128"},
    {"end outside", [](Small& s) { s.tensors[1] = tensor("b", {32, 2}, 8, 64); },
     "'b' needs 68 bytes at data offset 64"},
    {"offset 2^64-32", [](Small& s) { s.tensors[1] = tensor("b", {32, 2}, 8, kAll - 31); },
     "at data offset 18446744073709551584"},
    {"unaligned", [](Small& s) { s.tensors[1] = tensor("b", {32, 1}, 8, 33); },
     "data offset 33, no multiple of the alignment 32"},
    {"overlap", [](Small& s) { s.tensors[0] = tensor("a", {9}, 0, 0); }, "'b' at data offset 32 overlaps tensor 'a'"},
    {"same place", [](Small& s) { s.tensors[0] = tensor("a", {4}, 0, 32); }, "overlaps tensor"},
};

TEST(GgufMalformed, TheUnchangedFileIsValid) {
  const auto header = parse(Small().bytes());
  ASSERT_TRUE(header.ok()) << message_of(header);
  EXPECT_EQ(header->tensors.size(), 2u);
  EXPECT_EQ(header->metadata.entries().size(), 4u);
}

TEST(GgufMalformed, EachDamageIsNamed) {
  rusage before{};
  ::getrusage(RUSAGE_SELF, &before);
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.name);
    Small small;
    one.change(small);
    const auto header = parse(small.bytes());
    EXPECT_FALSE(header.ok());
    EXPECT_THAT(message_of(header), HasSubstr(one.words));
  }
  rusage after{};
  ::getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 64 << 10) << "kilobytes: a claimed count was believed";
}

TEST(GgufMalformed, EachTruncationIsAnError) {
  const std::string file = Small().bytes();
  for (size_t size = 0; size < file.size(); ++size) ASSERT_FALSE(parse(file.substr(0, size)).ok()) << size;
}

TEST(GgufMalformed, AnyByteMayChange) {
  const std::string file = Small().bytes();
  for (size_t at = 0; at < file.size(); ++at) {
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      (void)parse(damaged);
    }
  }
}

TEST(GgufMalformed, TensorsMayComeInAnyOrderAndDataMayFollow) {
  Small small;
  small.tensors = {tensor("b", {32, 2}, 8, 32), tensor("a", {4}, 0, 0)};
  small.data += "more";
  EXPECT_TRUE(parse(small.bytes()).ok());
}

TEST(GgufMalformed, NestingUpToTheLimitIsRead) {
  Small small;
  small.entries[2] = nested(7);
  EXPECT_EQ(message_of(parse(small.bytes())), "");
}

TEST(GgufMalformed, FilesWithoutTensorsNeedNoData) {
  Small small;
  small.tensors.clear();
  small.data.clear();
  small.alignment = 1;
  EXPECT_EQ(message_of(parse(small.bytes())), "");
}

TEST(GgufMalformed, OpeningNamesTheFile) {
  const testing::TemporaryFolder folder;
  testing::write_file(folder / "bad.gguf", "GGUX and more than four bytes");
  EXPECT_THAT(message_of(GgufFile::open(folder / "bad.gguf")), HasSubstr("bad.gguf: GGUF: the file does not begin"));
}

}  // namespace
}  // namespace terrace::format
