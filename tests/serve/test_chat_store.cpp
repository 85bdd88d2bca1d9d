#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "serve/chat_store.h"

namespace terrace::serve {
namespace {

using ::testing::HasSubstr;

class ChatStoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(::testing::TempDir()) /
              ("chats-" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()));
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    file_ = (folder_ / "chats.db").string();
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<ChatStore> open(const ChatLimits& limits = {}) const {
    auto store = ChatStore::open(file_, limits);
    EXPECT_TRUE(store) << store.error().message;
    return store ? *std::move(store) : nullptr;
  }
  std::string refusal() const {
    const auto store = ChatStore::open(file_);
    return store ? "opened" : store.error().message;
  }

  std::filesystem::path folder_;
  std::string file_;
};

SaveOutcome save(ChatStore& store, const std::string& id, int64_t revision, const std::string& document,
                 const std::string& owner = "") {
  const auto saved = store.save(owner, {id, "title of " + id, 1000 + revision}, revision, document);
  EXPECT_TRUE(saved) << saved.error().message;
  return *saved;
}

TEST_F(ChatStoreTest, KeepsChatsInAFileThatOnlyItsOwnerReads) {
  {
    const auto store = open();
    EXPECT_EQ(save(*store, "a", 0, "{\"text\":\"\xC3\xA9\"}"), SaveOutcome::saved);
    EXPECT_EQ(save(*store, "b", 0, "{}"), SaveOutcome::saved);
    EXPECT_EQ(save(*store, "b", 1, "{\"more\":1}"), SaveOutcome::saved);
  }
  struct stat status{};
  ASSERT_EQ(stat(file_.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  const auto store = open();
  const auto list = store->list("");
  ASSERT_EQ(list->size(), 2U);
  EXPECT_EQ((*list)[0].id, "b");
  EXPECT_EQ((*list)[0].title, "title of b");
  EXPECT_EQ((*list)[0].updated, 1001);
  EXPECT_EQ((*store->load("", "a"))->document, "{\"text\":\"\xC3\xA9\"}");
  EXPECT_EQ((*store->load("", "b"))->revision, 2);
  EXPECT_FALSE(store->load("", "c")->has_value());
}

TEST_F(ChatStoreTest, OwnersDoNotSeeEachOther) {
  const auto store = open();
  save(*store, "a", 0, "{\"of\":\"one\"}", "one");
  EXPECT_EQ(save(*store, "a", 0, "{\"of\":\"two\"}", "two"), SaveOutcome::saved);
  EXPECT_TRUE(store->list("")->empty());
  EXPECT_FALSE(*store->remove("three", "a"));
  EXPECT_TRUE(*store->remove("two", "a"));
  EXPECT_EQ((*store->load("one", "a"))->document, "{\"of\":\"one\"}");
}

TEST_F(ChatStoreTest, AChangeToAnOlderRevisionIsAConflict) {
  const auto first = open();
  const auto second = open();  // as another process would
  save(*first, "a", 0, "{\"by\":1}");
  EXPECT_EQ(save(*second, "a", 0, "{\"by\":2}"), SaveOutcome::conflict);
  EXPECT_EQ(save(*second, "a", 1, "{\"by\":2}"), SaveOutcome::saved);
  EXPECT_EQ(save(*first, "a", 1, "{\"by\":1}"), SaveOutcome::conflict);
  EXPECT_TRUE(*second->remove("", "a"));
  EXPECT_EQ(save(*first, "a", 2, "{\"by\":1}"), SaveOutcome::conflict);
}

TEST_F(ChatStoreTest, OfManyWritersExactlyOneWinsEachRevision) {
  const auto store = open();
  save(*store, "a", 0, "{}");
  std::atomic<int> saved = 0;
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      for (int64_t revision = 1; revision <= 25; ++revision)
        saved += save(*store, "a", revision, "{}") == SaveOutcome::saved ? 1 : 0;
    });
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ((*store->load("", "a"))->revision, saved + 1);
}

TEST_F(ChatStoreTest, IsFullAtItsLimits) {
  const auto store = open({.file_bytes = size_t{1} << 20, .chats = 3});
  for (const char* id : {"a", "b", "c"}) EXPECT_EQ(save(*store, id, 0, "{}"), SaveOutcome::saved);
  EXPECT_EQ(save(*store, "d", 0, "{}"), SaveOutcome::full);
  EXPECT_EQ(save(*store, "d", 0, "{}", "another owner"), SaveOutcome::saved);
  EXPECT_EQ(save(*store, "a", 1, std::string(size_t{2} << 20, 'x')), SaveOutcome::full);
  EXPECT_EQ((*store->load("", "a"))->document, "{}");
  EXPECT_EQ(save(*store, "a", 1, std::string(size_t{1} << 19, 'x')), SaveOutcome::saved);
}

TEST_F(ChatStoreTest, RefusesWhatIsNoFileOfChats) {
  std::ofstream(file_) << "this is a text, and long enough to be taken for a header of a database";
  EXPECT_THAT(refusal(), HasSubstr("chats.db: is no file of chats"));
  file_ = folder_.string();
  EXPECT_THAT(refusal(), HasSubstr("cannot be opened for the chats"));
  file_ = (folder_ / "missing" / "chats.db").string();
  EXPECT_THAT(refusal(), HasSubstr("No such file or directory"));
}

/// Writes bytes into the file, where SQLite does not expect them.
void overwrite(const std::string& file, std::streamoff at, const std::string& bytes) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekp(at);
  stream << bytes;
}

TEST_F(ChatStoreTest, RefusesAnotherProgramsDatabaseAndAnotherVersion) {
  save(*open(), "a", 0, "{}");
  overwrite(file_, 68, std::string(4, '\1'));  // the application's number in SQLite's header
  EXPECT_THAT(refusal(), HasSubstr("is the database of another program"));
  overwrite(file_, 68, "Trrc");
  overwrite(file_, 60, std::string("\0\0\0\2", 4));  // its version
  EXPECT_THAT(refusal(), HasSubstr("was written by another version of terrace (2, this one reads 1)"));
}

TEST_F(ChatStoreTest, RefusesADamagedFile) {
  for (int i = 0; i < 50; ++i) save(*open(), std::to_string(i), 0, std::string(3000, 'x'));
  for (std::streamoff at = 2 * 4096; at < 40 * 4096; at += 4096) overwrite(file_, at, std::string(64, '\xFF'));
  EXPECT_THAT(refusal(), HasSubstr("chats.db: is damaged"));
}

}  // namespace
}  // namespace terrace::serve
