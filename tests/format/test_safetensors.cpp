#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/safetensors.h"
#include "support/files.h"

namespace terrace::format {
namespace {

using testing::Arrays;
using testing::bytes_of;
using ::testing::HasSubstr;
using testing::message_of;
using testing::need;
using testing::take;
using testing::TemporaryFolder;

std::string file_with(const std::string& header, size_t data_bytes = 24) {
  const uint64_t size = header.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + header + std::string(data_bytes, 'd');
}

/// Parses a copy of exactly the file's size, so that a sanitizer sees the first byte read beyond it.
Result<std::map<std::string, SafetensorsArray>> parse(const std::string& file) {
  const std::unique_ptr<std::byte[]> copy(new std::byte[file.size()]);
  std::memcpy(copy.get(), file.data(), file.size());
  auto arrays = parse_safetensors({copy.get(), file.size()});
  if (arrays) {
    size_t sum = 0;
    for (const auto& [name, array] : *arrays)
      for (const std::byte byte : array.data) sum += std::to_integer<size_t>(byte);
    EXPECT_LT(sum, file.size() * 256 * (arrays->size() + 1));
  }
  return arrays;
}

const std::string kGood =
    R"({"__metadata__":{"x":"y"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"BF16","shape":[4],"data_offsets":[16,24]}})";

TEST(Safetensors, WhatIsWrittenComesBack) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, SafetensorsArray>> arrays = {
      {"z", {"F32", {2, 3}, {}}}, {"a", {"U8", {5}, {}}}, {"none", {"I64", {0, 7}, {}}}, {"one", {"F64", {}, {}}}};
  std::string data(24 + 5 + 0 + 8, '\0');
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<char>(i * 11);
  SafetensorsWriter writer = take(SafetensorsWriter::create(folder / "a", arrays));
  need(writer.write(bytes_of(data).first(10)));
  need(writer.write(bytes_of(data).subspan(10)));
  need(writer.finish());
  const Arrays found(folder / "a");
  size_t offset = 0;
  for (const auto& [name, array] : arrays) {
    EXPECT_EQ(found[name].dtype, array.dtype);
    EXPECT_EQ(found[name].shape, array.shape);
    EXPECT_EQ(std::memcmp(found[name].data.data(), data.data() + offset, found[name].data.size()), 0);
    offset += found[name].data.size();
  }
  EXPECT_EQ(offset, data.size());
  EXPECT_EQ(std::filesystem::file_size(folder / "a") % 8, data.size() % 8) << "data begin at a multiple of 8";
}

TEST(Safetensors, WriterCountsTheData) {
  const TemporaryFolder folder;
  for (const size_t size : {0, 7, 9}) {
    SafetensorsWriter writer = take(SafetensorsWriter::create(folder / "a", {{"a", {"U8", {8}, {}}}}));
    need(writer.write(bytes_of(std::string(size, 'x'))));
    EXPECT_THAT(message_of(writer.finish()), HasSubstr("bytes were written where the header announces"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "a"));
}

TEST(Safetensors, TheGoodFileIsRead) {
  const auto arrays = parse(file_with(kGood));
  ASSERT_TRUE(arrays.ok()) << message_of(arrays);
  EXPECT_EQ(arrays->size(), 2u);
  EXPECT_EQ(arrays->at("b").data.size(), 8u);
}

TEST(Safetensors, EachDamageIsNamed) {
  const auto array = [](const std::string& text) { return file_with(R"({"a":)" + text + "}"); };
  const struct {
    std::string file;
    const char* words;
  } cases[] = {
      {"", "shorter than its 8-byte header length"},
      {"1234567", "shorter than its 8-byte header length"},
      {std::string(8, '\xff'), "the header claims 18446744073709551615 bytes"},
      {std::string("\xff\xff\xff\xff\xff\xff\xff\x7f", 8), "the header claims 9223372036854775807 bytes"},
      {file_with(kGood, 0).substr(0, 40), "the header claims"},
      {file_with("[]"), "not a JSON object"},
      {file_with("{"), "not a JSON object"},
      {file_with(""), "not a JSON object"},
      {file_with("{\"\xff\":1}"), "not a JSON object"},
      {file_with(std::string(100000, '[')), "not a JSON object"},
      {file_with(R"({"__metadata__":)" + std::string(100000, '[')), "not a JSON object"},
      {array("1"), "array 'a' has no dtype"},
      {array("{}"), "array 'a' has no dtype"},
      {array(R"({"dtype":1})"), "no dtype"},
      {array(R"({"dtype":"F13"})"), "unknown dtype 'F13'"},
      {array(R"({"dtype":"F32"})"), "no shape"},
      {array(R"({"dtype":"F32","shape":4})"), "no shape"},
      {array(R"({"dtype":"F32","shape":[-1]})"), "no list of sizes"},
      {array(R"({"dtype":"F32","shape":[1.5]})"), "no list of sizes"},
      {array(R"({"dtype":"F32","shape":["1"]})"), "no list of sizes"},
      {array(R"({"dtype":"F32","shape":[1]})"), "no data_offsets"},
      {array(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})"), "no data_offsets"},
      {array(R"({"dtype":"F32","shape":[1],"data_offsets":[-4,0]})"), "no data_offsets"},
      {array(R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,8]})"), "no data_offsets"},
      {array(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})"), "data_offsets 4..0 outside"},
      {array(R"({"dtype":"F32","shape":[1],"data_offsets":[24,28]})"),
       "data_offsets 24..28 outside of the file's 24 bytes"},
      {array(R"({"dtype":"F32","shape":[1],"data_offsets":[0,18446744073709551615]})"), "outside"},
      {array(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})"), "4 bytes, which its shape does not give"},
      {array(R"({"dtype":"F32","shape":[4611686018427387905],"data_offsets":[0,4]})"), "which its shape does not give"},
      {array(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})"),
       "which its shape does not give"},
  };
  for (const auto& one : cases) {
    SCOPED_TRACE(one.words);
    EXPECT_THAT(message_of(parse(one.file)), HasSubstr(one.words));
  }
}

TEST(Safetensors, EachTruncationIsAnError) {
  const std::string file = file_with(kGood);
  for (size_t size = 0; size < file.size(); ++size) ASSERT_FALSE(parse(file.substr(0, size)).ok()) << size;
}

TEST(Safetensors, AnyByteMayChange) {
  const std::string file = file_with(kGood);
  for (size_t at = 0; at < file.size(); ++at) {
    for (const int change : {1, 2, 4, 8, 16, 32, 64, 128, 255}) {
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      (void)parse(damaged);
    }
  }
}

}  // namespace
}  // namespace terrace::format
