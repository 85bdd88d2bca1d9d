#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <csignal>

#include "base/file.h"
#include "support/files.h"

namespace terrace {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing::message_of;
using testing::need;
using testing::read_file;
using testing::take;
using testing::TemporaryFolder;
using testing::write_file;

TEST(OutputFile, AppearsOnlyWithCommit) {
  const TemporaryFolder folder;
  {
    OutputFile file = take(OutputFile::create(folder / "a"));
    need(file.write("text"));
    EXPECT_FALSE(fs::exists(folder / "a"));
    EXPECT_TRUE(fs::exists(folder / "a.part"));
  }
  EXPECT_FALSE(fs::exists(folder / "a"));
  EXPECT_FALSE(fs::exists(folder / "a.part"));
}

TEST(OutputFile, CommitReplacesTheOldFileAtOnce) {
  const TemporaryFolder folder;
  write_file(folder / "a", "old");
  const MappedFile reader = take(MappedFile::open(folder / "a"));
  OutputFile file = take(OutputFile::create(folder / "a"));
  need(file.write("new "));
  need(file.write("text"));
  EXPECT_EQ(file.written(), 8u);
  EXPECT_EQ(read_file(folder / "a"), "old");
  need(file.commit());
  EXPECT_EQ(read_file(folder / "a"), "new text");
  EXPECT_FALSE(fs::exists(folder / "a.part"));
  EXPECT_EQ(std::memcmp(reader.bytes().data(), "old", 3), 0) << "who had it open keeps the old file";
}

TEST(OutputFile, AMovedFileIsWrittenOnce) {
  const TemporaryFolder folder;
  OutputFile first = take(OutputFile::create(folder / "a"));
  need(first.write("1"));
  {
    OutputFile second = std::move(first);
    need(second.write("2"));
    need(second.commit());
  }
  EXPECT_EQ(read_file(folder / "a"), "12");
}

TEST(OutputFile, FullDeviceIsAnErrorAndLeavesTheOldFile) {
  const TemporaryFolder folder;
  write_file(folder / "a", "old");
  // The device that is always full stands in for the temporary file.
  fs::create_symlink("/dev/full", folder / "a.part");
  {
    OutputFile file = take(OutputFile::create(folder / "a"));
    EXPECT_THAT(message_of(file.write("new")), HasSubstr(folder / "a"));
  }
  EXPECT_EQ(read_file(folder / "a"), "old");
  EXPECT_FALSE(fs::is_symlink(folder / "a.part"));
}

TEST(OutputFile, SizeLimitIsAnErrorInTheMiddleOfAWrite) {
  const TemporaryFolder folder;
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{10000, old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  std::string message;
  {
    OutputFile file = take(OutputFile::create(folder / "a"));
    message = message_of(file.write(std::string(20000, 'x')));
    EXPECT_EQ(file.written(), 10000u);
  }
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_THAT(message, HasSubstr("cannot write"));
  EXPECT_FALSE(fs::exists(folder / "a"));
  EXPECT_FALSE(fs::exists(folder / "a.part"));
}

TEST(OutputFile, FolderThatIsMissingIsAnError) {
  const TemporaryFolder folder;
  EXPECT_THAT(message_of(OutputFile::create(folder / "none/a")), HasSubstr("none/a"));
}

TEST(OutputFile, CommitOntoAFolderIsAnErrorAndLeavesNothing) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "a/inside");
  OutputFile file = take(OutputFile::create(folder / "a"));
  need(file.write("x"));
  EXPECT_THAT(message_of(file.commit()), HasSubstr("cannot finish writing"));
  EXPECT_TRUE(fs::is_directory(folder / "a/inside"));
  EXPECT_FALSE(fs::exists(folder / "a.part"));
}

TEST(MappedFile, GivesTheBytes) {
  const TemporaryFolder folder;
  std::string bytes(100000, 'x');
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7);
  write_file(folder / "a", bytes);
  MappedFile file = take(MappedFile::open(folder / "a"));
  ASSERT_EQ(file.bytes().size(), bytes.size());
  file.prefetch(file.bytes().subspan(100, 9000));
  file.release(file.bytes());
  EXPECT_EQ(std::memcmp(file.bytes().data(), bytes.data(), bytes.size()), 0) << "released pages come back";
  const MappedFile moved = std::move(file);
  EXPECT_EQ(std::memcmp(moved.bytes().data(), bytes.data(), bytes.size()), 0);
}

TEST(MappedFile, WhatIsNoFileIsNamed) {
  const TemporaryFolder folder;
  write_file(folder / "empty", "");
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(message_of(MappedFile::open(folder / "missing")), HasSubstr("missing: cannot open: No such file"));
  EXPECT_THAT(message_of(MappedFile::open(folder / ".")), HasSubstr("is a directory"));
  EXPECT_THAT(message_of(MappedFile::open(folder / "empty")), HasSubstr("empty: the file is empty"));
  EXPECT_THAT(message_of(MappedFile::open("/dev/null")), HasSubstr("/dev/null: is not a regular file"));
  EXPECT_THAT(message_of(MappedFile::open(folder / "pipe")), HasSubstr("pipe: is not a regular file"));
}

TEST(ReadText, ReadsUpToItsLimit) {
  const TemporaryFolder folder;
  const std::string text(200000, 't');
  write_file(folder / "a", text);
  EXPECT_EQ(take(read_text(folder / "a")), text);
  EXPECT_EQ(take(read_text(folder / "a", text.size())), text);
  EXPECT_THAT(message_of(read_text(folder / "a", text.size() - 1)), HasSubstr("longer than 199999 bytes"));
  EXPECT_THAT(message_of(read_text(folder / "missing")), HasSubstr("cannot open"));
  EXPECT_THAT(message_of(read_text(folder / ".")), HasSubstr("cannot read"));
  EXPECT_THAT(message_of(read_text("/dev/zero", 1000)), HasSubstr("longer than 1000 bytes"));
  write_file(folder / "empty", "");
  EXPECT_EQ(take(read_text(folder / "empty")), "");
}

}  // namespace
}  // namespace terrace
