// Checkpoint folders that are not as they should be: each is an error that names the file and the tensor.
#include <gmock/gmock.h>

#include "tools/checkpoints.h"
#include "tools/convert/checkpoint.h"

namespace terrace::tools {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::message_of;
using testing::need;
using testing::take;
using testing::TemporaryFolder;
using testing::write_file;
using testing::write_safetensors;

class CheckpointTest : public ::testing::Test {
 protected:
  void write_index(const std::string& map) {
    write_file(folder / "model.safetensors.index.json", R"({"metadata": {}, "weight_map": )" + map + "}");
  }
  std::string problem() { return message_of(Checkpoint::open(folder / "")); }

  TemporaryFolder folder;
};

TEST_F(CheckpointTest, ReadsBytesInPlaces) {
  write_safetensors(folder / "model.safetensors", {{"a", {2, 3}}, {"b", {4}}}, "BF16", 7);
  const auto checkpoint = take(Checkpoint::open(folder / ""));
  const CheckpointTensor* tensor = checkpoint.find("a");
  ASSERT_TRUE(tensor);
  EXPECT_EQ(tensor->values(), 6U);
  EXPECT_EQ(tensor->width(), 2U);
  std::byte bytes[4];
  need(checkpoint.read(*tensor, 8, bytes));
  EXPECT_EQ(bytes[3], std::byte{7});
  EXPECT_FALSE(checkpoint.find("c"));
}

TEST_F(CheckpointTest, ReadsShards) {
  write_safetensors(folder / "1.safetensors", {{"a", {2}}});
  write_safetensors(folder / "2.safetensors", {{"b", {3}}});
  write_index(R"({"a": "1.safetensors", "b": "2.safetensors"})");
  const auto checkpoint = take(Checkpoint::open(folder / ""));
  EXPECT_EQ(checkpoint.tensors().size(), 2U);
  EXPECT_THAT(checkpoint.path(*checkpoint.find("b")), HasSubstr("2.safetensors"));
}

TEST_F(CheckpointTest, NamesWhatIsWrongWithShards) {
  EXPECT_THAT(problem(), HasSubstr("neither model.safetensors nor"));
  write_safetensors(folder / "1.safetensors", {{"a", {2}}});
  write_index(R"({"a": "1.safetensors", "b": "2.safetensors"})");
  EXPECT_THAT(problem(), AllOf(HasSubstr("'2.safetensors'"), HasSubstr("not in the folder")));
  write_safetensors(folder / "2.safetensors", {{"c", {3}}});
  EXPECT_THAT(problem(), AllOf(HasSubstr("'b'"), HasSubstr("where it should be")));
  write_safetensors(folder / "2.safetensors", {{"b", {3}}, {"c", {1}}});
  EXPECT_THAT(problem(), AllOf(HasSubstr("does not list"), HasSubstr("'c'")));
  write_safetensors(folder / "2.safetensors", {{"b", {3}}, {"a", {2}}});
  EXPECT_THAT(problem(), AllOf(HasSubstr("'a'"), HasSubstr("is also in")));
  write_safetensors(folder / "2.safetensors", {{"b", {3}}});
  std::filesystem::resize_file(folder / "2.safetensors", std::filesystem::file_size(folder / "2.safetensors") - 1);
  EXPECT_THAT(problem(), AllOf(HasSubstr("2.safetensors"), HasSubstr("'b'"), HasSubstr("outside of the file")));
}

TEST_F(CheckpointTest, RefusesIndexesThatLeadElsewhere) {
  for (const char* map : {R"({"a": "../x.safetensors"})", R"({"a": "/etc/passwd"})", R"({"a": ".."})", R"({"a": 3})",
                          "{}", R"({"a": ""})", "[]"}) {
    write_index(map);
    EXPECT_NE(problem(), "") << map;
  }
  write_file(folder / "model.safetensors.index.json", "{");
  EXPECT_THAT(problem(), HasSubstr("not JSON"));
  write_file(folder / "model.safetensors.index.json", std::string(100000, '['));
  EXPECT_THAT(problem(), HasSubstr("levels of brackets"));
}

}  // namespace
}  // namespace terrace::tools
