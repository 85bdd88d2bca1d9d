#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "format/gguf.h"
#include "format/gguf_writer.h"
#include "support/files.h"

namespace terrace::format {
namespace {

using testing::bytes_of;
using ::testing::HasSubstr;
using testing::message_of;
using testing::need;
using testing::read_file;
using testing::take;
using testing::TemporaryFolder;

void expect_equal(const GgufArray& a, const GgufArray& b) {
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.integers, b.integers);
  EXPECT_EQ(a.floats, b.floats);
  EXPECT_EQ(a.strings, b.strings);
  ASSERT_EQ(a.arrays.size(), b.arrays.size());
  for (size_t i = 0; i < a.arrays.size(); ++i) expect_equal(a.arrays[i], b.arrays[i]);
}

void expect_equal(const GgufMetadata& a, const GgufMetadata& b) {
  ASSERT_EQ(a.entries().size(), b.entries().size());
  for (size_t i = 0; i < a.entries().size(); ++i) {
    const GgufEntry& x = a.entries()[i];
    const GgufEntry& y = b.entries()[i];
    SCOPED_TRACE(x.key);
    EXPECT_EQ(x.key, y.key);
    EXPECT_EQ(x.type, y.type);
    ASSERT_EQ(x.value.index(), y.value.index());
    if (x.type == GgufType::array) {
      expect_equal(**a.array(x.key), **b.array(y.key));
    } else {
      EXPECT_EQ(x.value, y.value);
    }
  }
}

template <class T>
GgufEntry number(GgufType type, T value) {
  const auto key = fmt::format("{}.{}", gguf_type_name(type), value);
  if constexpr (std::is_floating_point_v<T>) {
    return {key, type, double{value}};
  } else if constexpr (std::is_signed_v<T>) {
    return {key, type, int64_t{value}};
  } else {
    return {key, type, uint64_t{value}};
  }
}

template <class T>
void set_extremes(GgufMetadata& metadata, GgufType type) {
  for (const T value : {std::numeric_limits<T>::lowest(), T{0}, T{1}, std::numeric_limits<T>::max()})
    metadata.set(number<T>(type, value));
}

GgufArray integers(GgufType type, std::vector<int64_t> values) {
  GgufArray array;
  array.type = type;
  array.integers = std::move(values);
  return array;
}

GgufMetadata every_type() {
  GgufMetadata metadata;
  set_extremes<uint8_t>(metadata, GgufType::u8);
  set_extremes<int8_t>(metadata, GgufType::i8);
  set_extremes<uint16_t>(metadata, GgufType::u16);
  set_extremes<int16_t>(metadata, GgufType::i16);
  set_extremes<uint32_t>(metadata, GgufType::u32);
  set_extremes<int32_t>(metadata, GgufType::i32);
  set_extremes<uint64_t>(metadata, GgufType::u64);
  set_extremes<int64_t>(metadata, GgufType::i64);
  set_extremes<float>(metadata, GgufType::f32);
  set_extremes<double>(metadata, GgufType::f64);
  metadata.set("yes", true);
  metadata.set("no", false);
  metadata.set("text", std::string("a\0b\xff\xe6", 5));
  metadata.set("no text", "");
  metadata.set("u8s", integers(GgufType::u8, {0, 255}));
  metadata.set("i8s", integers(GgufType::i8, {-128, 127}));
  metadata.set("u16s", integers(GgufType::u16, {0, 65535}));
  metadata.set("i16s", integers(GgufType::i16, {-32768, 32767}));
  metadata.set("u32s", integers(GgufType::u32, {0, 4294967295}));
  metadata.set("i32s", integers(GgufType::i32, {-2147483648, 2147483647}));
  metadata.set("u64s", integers(GgufType::u64, {0, std::numeric_limits<int64_t>::max()}));
  metadata.set("i64s", integers(GgufType::i64, {std::numeric_limits<int64_t>::min()}));
  metadata.set("booleans", integers(GgufType::boolean, {1, 0, 1}));
  metadata.set("none", integers(GgufType::u32, {}));
  GgufArray floats;
  floats.type = GgufType::f32;
  floats.floats = {0.5, -3};
  metadata.set("f32s", floats);
  floats.type = GgufType::f64;
  floats.floats = {0.1, 1e300};
  metadata.set("f64s", floats);
  GgufArray strings;
  strings.type = GgufType::string;
  strings.strings = {"", "x", "\u6b6a"};
  metadata.set("strings", strings);
  GgufArray nested;
  nested.type = GgufType::array;
  nested.arrays = {strings, floats, integers(GgufType::i8, {-1})};
  GgufArray outer = nested;
  outer.arrays.push_back(nested);
  metadata.set("nested", outer);
  return metadata;
}

GgufTensor tensor(std::string name, uint32_t type, std::vector<uint64_t> shape) {
  GgufTensor made;
  made.name = std::move(name);
  made.type = type;
  made.shape = std::move(shape);
  return made;
}

std::vector<GgufTensor> some_tensors() {
  return {tensor("vector", 0, {5}), tensor("matrix", 8, {64, 3}), tensor("stack", 12, {256, 2, 3}),
          tensor("four", 30, {2, 3, 4, 5}), tensor("unusable", 16, {256, 1})};
}

/// Writes the tensors with bytes that count up, in pieces of `piece`.
void write(const std::string& path, const GgufMetadata& metadata, size_t piece) {
  GgufWriter writer = take(GgufWriter::create(path, metadata, some_tensors()));
  std::string bytes(20 + 6 * 34 + 6 * 144 + 240 + 66, '\0');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 13 + i / 256);
  for (size_t i = 0; i < bytes.size(); i += piece)
    need(writer.write(bytes_of(bytes).subspan(i, std::min(piece, bytes.size() - i))));
  need(writer.finish());
}

TEST(Gguf, WhatIsWrittenComesBack) {
  const TemporaryFolder folder;
  for (const uint32_t alignment : {1, 8, 32, 4096}) {
    GgufMetadata metadata = every_type();
    metadata.set("general.alignment", alignment);
    write(folder / "a.gguf", metadata, 7);
    const GgufFile file = take(GgufFile::open(folder / "a.gguf"));
    EXPECT_EQ(file.version(), 3u);
    EXPECT_EQ(file.file_bytes(), std::filesystem::file_size(folder / "a.gguf"));
    expect_equal(metadata, file.metadata());
    size_t expected = 0;
    ASSERT_EQ(file.tensors().size(), some_tensors().size());
    for (size_t i = 0; i < file.tensors().size(); ++i) {
      const GgufTensor& found = file.tensors()[i];
      EXPECT_EQ(found.name, some_tensors()[i].name);
      EXPECT_EQ(found.type, some_tensors()[i].type);
      EXPECT_EQ(found.shape, some_tensors()[i].shape);
      EXPECT_EQ(file.find(found.name), &found);
      EXPECT_EQ(found.offset % alignment, 0u);
      for (const std::byte byte : found.data) {
        ASSERT_EQ(byte, static_cast<std::byte>(expected * 13 + expected / 256));
        ++expected;
      }
    }
    EXPECT_EQ(expected, 20u + 6 * 34 + 6 * 144 + 240 + 66);
  }
}

TEST(Gguf, PiecesDoNotMatter) {
  const TemporaryFolder folder;
  write(folder / "a", every_type(), 1);
  write(folder / "b", every_type(), 100000);
  EXPECT_EQ(read_file(folder / "a"), read_file(folder / "b"));
}

TEST(Gguf, Version2IsReadLikeVersion3) {
  const TemporaryFolder folder;
  write(folder / "a", every_type(), 1000);
  std::string bytes = read_file(folder / "a");
  bytes[4] = 2;
  const GgufHeader header = take(parse_gguf(bytes_of(bytes)));
  EXPECT_EQ(header.version, 2u);
  expect_equal(every_type(), header.metadata);
  EXPECT_EQ(header.tensors.size(), 5u);
}

TEST(Gguf, WriterRefusesWhatNoReaderCouldUse) {
  const TemporaryFolder folder;
  const auto create = [&](const GgufMetadata& metadata, std::vector<GgufTensor> tensors) {
    return message_of(GgufWriter::create(folder / "a", metadata, tensors));
  };
  for (const uint32_t alignment : {0U, 3U, 1U << 30}) {
    GgufMetadata metadata;
    metadata.set("general.alignment", alignment);
    EXPECT_THAT(create(metadata, {}), HasSubstr("general.alignment"));
  }
  EXPECT_THAT(create({}, {tensor("t", 99, {32})}), HasSubstr("'t'"));
  EXPECT_THAT(create({}, {tensor("t", 8, {33})}), HasSubstr("'t'"));
  EXPECT_THAT(create({}, {tensor("t", 8, {})}), HasSubstr("'t'"));
}

TEST(Gguf, WriterCountsTheData) {
  const TemporaryFolder folder;
  const std::string data(8, 'x');
  {
    GgufWriter writer = take(GgufWriter::create(folder / "a", {}, {tensor("t", 0, {3})}));
    need(writer.write(bytes_of(data)));
    EXPECT_THAT(message_of(writer.finish()), HasSubstr("missing"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  GgufWriter writer = take(GgufWriter::create(folder / "a", {}, {tensor("t", 0, {3})}));
  need(writer.write(bytes_of(data)));
  EXPECT_THAT(message_of(writer.write(bytes_of(data))), HasSubstr("more tensor data"));
}

TEST(GgufMetadata, GettersTakeAnyWidthAndNameTheKey) {
  GgufMetadata metadata = every_type();
  metadata.set({"minus", GgufType::i32, int64_t{-1}});
  EXPECT_EQ(take(metadata.integer("u8.255")), 255u);
  EXPECT_EQ(take(metadata.integer("i16.32767")), 32767u);
  EXPECT_EQ(take(metadata.number("i8.-128")), -128.0);
  EXPECT_EQ(take(metadata.number("u64.1")), 1.0);
  EXPECT_TRUE(take(metadata.boolean("yes")));
  EXPECT_EQ(take(metadata.string("no text")), "");
  EXPECT_EQ(take(metadata.array("strings"))->size(), 3u);
  EXPECT_EQ(take(metadata.integer_or("none of it", 9)), 9u);
  EXPECT_THAT(message_of(metadata.integer("none of it")), HasSubstr("'none of it' is missing"));
  EXPECT_THAT(message_of(metadata.integer("minus")), HasSubstr("'minus' is -1"));
  EXPECT_THAT(message_of(metadata.integer("yes")), HasSubstr("'yes' is of type bool"));
  EXPECT_THAT(message_of(metadata.integer("f32.1")), HasSubstr("'f32.1' is of type f32"));
  EXPECT_THAT(message_of(metadata.integer_or("text", 1)), HasSubstr("'text' is of type str"));
  EXPECT_THAT(message_of(metadata.number_or("text", 1)), HasSubstr("'text' is of type str"));
  EXPECT_THAT(message_of(metadata.boolean_or("u8.1", true)), HasSubstr("'u8.1' is of type u8"));
  EXPECT_THAT(message_of(metadata.string_or("strings", "")), HasSubstr("'strings' is of type arr"));
  EXPECT_THAT(message_of(metadata.array("text")), HasSubstr("'text' is of type str"));
}

TEST(GgufMetadata, SetReplacesInPlace) {
  GgufMetadata metadata;
  metadata.set("a", uint32_t{1});
  metadata.set("b", uint32_t{2});
  metadata.set("a", "three");
  ASSERT_EQ(metadata.entries().size(), 2u);
  EXPECT_EQ(metadata.entries()[0].key, "a");
  EXPECT_EQ(take(metadata.string("a")), "three");
}

}  // namespace
}  // namespace terrace::format
