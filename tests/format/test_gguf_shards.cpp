// Models split over several files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "format/gguf.h"
#include "format/gguf_writer.h"
#include "support/files.h"

namespace terrace::format {
namespace {

using testing::bytes_of;
using ::testing::HasSubstr;
using testing::message_of;
using testing::need;
using testing::take;
using testing::TemporaryFolder;

struct Shard {
  std::string file;
  uint32_t number = 0;
  uint32_t count = 3;
  std::vector<std::string> tensors;
};

std::string name_of(size_t shard) { return fmt::format("m-{:05}-of-00003.gguf", shard + 1); }

std::vector<Shard> good_shards() {
  return {{name_of(0), 0, 3, {}}, {name_of(1), 1, 3, {"a", "b"}}, {name_of(2), 2, 3, {"c"}}};
}

/// Writes the shards; each tensor is one number, counted through all of them. Opens `first`.
Result<GgufFile> open(const TemporaryFolder& folder, const std::vector<Shard>& shards, uint32_t tensor_count = 3,
                      const std::string& first = name_of(0)) {
  float value = 0;
  for (const Shard& shard : shards) {
    GgufMetadata metadata;
    metadata.set("general.name", "shard " + std::to_string(shard.number));
    metadata.set("split.no", shard.number);
    metadata.set("split.count", shard.count);
    metadata.set("split.tensors.count", tensor_count);
    std::vector<GgufTensor> tensors;
    for (const std::string& name : shard.tensors) tensors.push_back({name, 0, {1}, 0, {}});
    GgufWriter writer = take(GgufWriter::create(folder / shard.file, metadata, tensors));
    for (size_t i = 0; i < tensors.size(); ++i, ++value) need(writer.write(std::as_bytes(std::span(&value, 1))));
    need(writer.finish());
  }
  return GgufFile::open(folder / first);
}

TEST(GgufShards, AreOneModel) {
  const TemporaryFolder folder;
  const GgufFile file = take(open(folder, good_shards()));
  EXPECT_EQ(take(file.metadata().string("general.name")), "shard 0");
  ASSERT_EQ(file.tensors().size(), 3u);
  uint64_t bytes = 0;
  for (size_t i = 0; i < 3; ++i) {
    float value = -1;
    std::memcpy(&value, file.tensors()[i].data.data(), sizeof value);
    EXPECT_EQ(value, static_cast<float>(i));
    bytes += std::filesystem::file_size(folder / name_of(i));
    file.release(file.tensors()[i].data);
  }
  EXPECT_EQ(file.file_bytes(), bytes);
  ASSERT_NE(file.find("c"), nullptr);
}

TEST(GgufShards, AMissingShardIsNamed) {
  const TemporaryFolder folder;
  auto shards = good_shards();
  shards.pop_back();
  EXPECT_THAT(message_of(open(folder, shards)), HasSubstr("m-00003-of-00003.gguf: cannot open"));
}

TEST(GgufShards, AnotherShardThanTheFirstSaysWhichToOpen) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of(open(folder, good_shards(), 3, name_of(1))),
              HasSubstr("shard 2 of 3; open the first one, -00001-of-00003.gguf"));
}

TEST(GgufShards, WrongOrderIsAnError) {
  const TemporaryFolder folder;
  auto shards = good_shards();
  std::swap(shards[1].number, shards[2].number);
  EXPECT_THAT(message_of(open(folder, shards)), HasSubstr("says it is shard 3 of 3, expected 2 of 3"));
}

TEST(GgufShards, AShardOfAnotherModelIsAnError) {
  const TemporaryFolder folder;
  auto shards = good_shards();
  shards[2].count = 4;
  EXPECT_THAT(message_of(open(folder, shards)), HasSubstr("says it is shard 3 of 4, expected 3 of 3"));
}

TEST(GgufShards, ATensorInTwoShardsIsAnError) {
  const TemporaryFolder folder;
  auto shards = good_shards();
  shards[2].tensors = {"a"};
  EXPECT_THAT(message_of(open(folder, shards)), HasSubstr("tensor 'a' is also in an earlier shard"));
}

TEST(GgufShards, TheTensorCountIsChecked) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of(open(folder, good_shards(), 4)), HasSubstr("split.tensors.count is 4, but the shards hold 3"));
}

TEST(GgufShards, ANameWithoutTheFormIsAnError) {
  const TemporaryFolder folder;
  for (const std::string name : {"model.gguf", "-of-00003.gguf", "x00001-of-00003.gguf", "m-00001-of-00002.gguf"}) {
    auto shards = good_shards();
    shards[0].file = name;
    EXPECT_THAT(message_of(open(folder, shards, 3, name)), HasSubstr("does not end in")) << name;
  }
}

TEST(GgufShards, AnImpossibleShardCountIsAnError) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of(open(folder, {{name_of(0), 0, 4000000000, {"a"}}})), HasSubstr("split.count is 4000000000"));
}

TEST(GgufShards, ACountOfOneOrNoneIsAWholeFile) {
  const TemporaryFolder folder;
  for (const uint32_t count : {0, 1})
    EXPECT_EQ(take(open(folder, {{"m.gguf", 0, count, {"a"}}}, 1, "m.gguf")).tensors().size(), 1u);
}

}  // namespace
}  // namespace terrace::format
