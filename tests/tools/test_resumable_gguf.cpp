// The resumable writer: what a finished, a stopped, a killed and a failed run leave behind.
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include "support/files.h"
#include "tools/resumable_gguf.h"

namespace terrace::tools {
namespace {

using testing::bytes_of;
using ::testing::HasSubstr;
using testing::message_of;
using testing::need;
using testing::read_file;
using testing::take;
using testing::TemporaryFolder;
using testing::write_file;

format::GgufMetadata small_metadata() {
  format::GgufMetadata metadata;
  metadata.set("general.architecture", "llama");
  return metadata;
}

/// Three tensors of bytes' worth of F32: 40, 4 and 64 values.
std::vector<format::GgufTensor> small_tensors() {
  return {{"a", 0, {10, 4}, 0, {}}, {"b", 0, {4}, 0, {}}, {"c", 0, {64}, 0, {}}};
}

std::string data_of(size_t bytes, char fill) { return std::string(bytes, fill); }

class ResumableGgufTest : public ::testing::Test {
 protected:
  Result<ResumableGguf> open(std::string_view fingerprint = "inputs") {
    return ResumableGguf::open(path, small_metadata(), small_tensors(), fingerprint);
  }
  bool exists(const std::string& suffix) const { return std::filesystem::exists(path + suffix); }
  void expect_nothing_left() const {
    EXPECT_FALSE(exists(".part"));
    EXPECT_FALSE(exists(".part.json"));
    EXPECT_FALSE(exists(".part.json.part"));
  }
  static void write_from(ResumableGguf& gguf) {
    const std::string fills = "abc";
    for (auto place = gguf.place(); place.tensor < 3; place = gguf.place())
      need(gguf.write(bytes_of(data_of(gguf.size_of(place.tensor) - place.bytes, fills[place.tensor]))));
  }
  std::string whole_file() {
    auto gguf = take(open());
    write_from(gguf);
    need(gguf.finish());
    return read_file(path);
  }

  TemporaryFolder folder;
  std::string path = folder / "out.gguf";
};

TEST_F(ResumableGgufTest, AFinishedFileIsAGgufAndNothingElseIsLeft) {
  whole_file();
  expect_nothing_left();
  const auto file = take(format::GgufFile::open(path));
  ASSERT_EQ(file.tensors().size(), 3U);
  EXPECT_EQ(static_cast<char>(file.find("b")->data[0]), 'b');
  EXPECT_EQ(static_cast<char>(file.find("c")->data[255]), 'c');
}

TEST_F(ResumableGgufTest, KeptWorkIsContinuedWithinATensor) {
  const std::string whole = whole_file();
  std::filesystem::remove(path);
  {
    auto gguf = take(open());
    need(gguf.write(bytes_of(data_of(100, 'a'))));
    need(gguf.mark());
    need(gguf.write(bytes_of(data_of(20, 'x'))));  // behind the mark: lost
    need(gguf.keep());
  }
  EXPECT_FALSE(exists(""));
  auto gguf = take(open());
  EXPECT_EQ(gguf.kept(), 100U);
  EXPECT_EQ(gguf.place().tensor, 0U);
  EXPECT_EQ(gguf.place().bytes, 100U);
  write_from(gguf);
  need(gguf.finish());
  EXPECT_EQ(read_file(path), whole);
  expect_nothing_left();
}

TEST_F(ResumableGgufTest, OtherInputsStartAnew) {
  {
    auto gguf = take(open());
    need(gguf.write(bytes_of(data_of(160, 'a'))));
    need(gguf.mark());
    need(gguf.keep());
  }
  EXPECT_EQ(take(open("other inputs")).kept(), 0U);
}

TEST_F(ResumableGgufTest, AnotherHeaderOrAShortPartStartsAnew) {
  const auto leave_part = [&] {
    auto gguf = take(open());
    need(gguf.write(bytes_of(data_of(160, 'a'))));
    need(gguf.mark());
    need(gguf.keep());
  };
  leave_part();
  auto tensors = small_tensors();
  tensors[0].name = "z";
  EXPECT_EQ(take(ResumableGguf::open(path, small_metadata(), tensors, "inputs")).kept(), 0U);
  leave_part();
  std::filesystem::resize_file(path + ".part", 150);
  EXPECT_EQ(take(open()).kept(), 0U);
  for (const char* notes : {"", "{", "[]", R"({"fingerprint": 1, "bytes": 2})", R"({"fingerprint": "inputs"})",
                            R"({"fingerprint": "inputs", "bytes": 99999999})"}) {
    leave_part();
    write_file(path + ".part.json", notes);
    EXPECT_EQ(take(open()).kept(), 0U) << notes;
  }
}

TEST_F(ResumableGgufTest, AKilledProcessLeavesWhatWasSaved) {
  const pid_t child = ::fork();
  if (child == 0) {
    auto gguf = take(open());
    need(gguf.write(bytes_of(data_of(160, 'a'))));
    need(gguf.mark());
    need(gguf.keep());
    ::kill(::getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(take(open()).kept(), 160U);
}

TEST_F(ResumableGgufTest, AFailureLeavesNothingAndTheOldFile) {
  write_file(path, "old");
  {
    auto gguf = take(open());
    need(gguf.write(bytes_of(data_of(160, 'a'))));
    EXPECT_THAT(message_of(gguf.write(bytes_of(data_of(17, 'b')))), HasSubstr("more tensor data"));
    EXPECT_THAT(message_of(gguf.finish()), HasSubstr("missing"));
  }
  expect_nothing_left();
  EXPECT_EQ(read_file(path), "old");
}

TEST_F(ResumableGgufTest, AFullDiskIsAnErrorAndLeavesNothing) {
  // In a process of its own, since the limit is the process's.
  const pid_t child = ::fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{400, 400};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    int outcome = 1;
    {
      auto gguf = take(open());
      Status status = Done{};
      for (int i = 0; i < 3 && status; ++i)
        status = gguf.write(bytes_of(data_of(gguf.size_of(gguf.place().tensor), 'a')));
      outcome = message_of(status).find("cannot write") != std::string::npos ? 0 : 2;
    }
    ::_exit(outcome);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  expect_nothing_left();
}

TEST_F(ResumableGgufTest, TwoWritersOfOneFileAreRefused) {
  auto first = take(open());
  EXPECT_THAT(message_of(open()), HasSubstr("another process is writing it"));
  write_from(first);
  need(first.finish());
  EXPECT_EQ(take(open()).kept(), 0U);
}

TEST_F(ResumableGgufTest, AFolderIsNoFile) {
  std::filesystem::create_directory(path);
  EXPECT_THAT(message_of(open()), HasSubstr("is a folder"));
}

}  // namespace
}  // namespace terrace::tools
