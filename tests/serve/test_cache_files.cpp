// Conversations on disk: what comes back has the bits of what was saved, and what is broken does not come back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "model/runs.h"
#include "serve/cache_files.h"

namespace terrace::serve {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

constexpr Fingerprint kModel{1, 2};

class CacheFilesTest : public ::testing::TestWithParam<const char*> {
 protected:
  std::unique_ptr<CacheFiles> open(Fingerprint fingerprint = kModel, size_t limit = size_t{1} << 30) {
    return take(CacheFiles::open(folder / "cache", limit, fingerprint, RecordLimits::of(*engine)));
  }
  std::shared_ptr<const engine::Checkpoint> checkpoint(size_t length) {
    engine::Sequence sequence;
    feed(*engine, sequence, std::span(tokens).first(length), 50);
    return std::make_shared<const engine::Checkpoint>(sequence.checkpoint());
  }
  void save(const std::vector<size_t>& lengths) {
    const auto files = open();
    for (const size_t length : lengths) files->save(checkpoint(length));
    files->flush();
  }
  std::vector<engine::Checkpoint> load(Fingerprint fingerprint = kModel) {
    return open(fingerprint)->load(*engine, size_t{1} << 30);
  }
  std::vector<fs::path> named(const std::string& extension) const {
    std::vector<fs::path> found;
    for (const auto& file : fs::directory_iterator(folder / "cache")) {
      if (file.path().extension() == extension) found.push_back(file.path());
    }
    return found;
  }

  TemporaryFolder folder;
  std::unique_ptr<engine::Engine> engine = testing::load(GetParam(), {.threads = 1});
  std::vector<int32_t> tokens = recorded_tokens(GetParam());
};

TEST_P(CacheFilesTest, ACheckpointComesBackWithItsBits) {
  save({100});
  const auto loaded = load();
  ASSERT_EQ(loaded.size(), 1u);
  engine::Sequence resumed, straight;
  resumed.restore(loaded[0]);
  ASSERT_EQ(resumed.size(), 100u);
  const auto rest = feed(*engine, resumed, std::span(tokens).subspan(100), 13);
  const auto all = feed(*engine, straight, tokens, 64);
  EXPECT_TRUE(same_bits(rest, std::span(all).last(rest.size())));
}

TEST_P(CacheFilesTest, PagesAreSharedOnDisk) {
  save({64, 128, 130});
  EXPECT_EQ(named(".conversation").size(), 3u);
  EXPECT_EQ(named(".page").size(), 3u);  // two whole ones and the part
  EXPECT_EQ(load().size(), 3u);
  save({130});  // once more
  EXPECT_EQ(named(".conversation").size(), 3u);
  EXPECT_EQ(load().back().tokens.size(), 130u);
}

TEST_P(CacheFilesTest, OtherModelsFilesAreDropped) {
  save({100});
  EXPECT_TRUE(load({1, 3}).empty());
  EXPECT_TRUE(named(".page").empty());
  EXPECT_TRUE(load().empty());
}

TEST_P(CacheFilesTest, BrokenFilesAreDropped) {
  for (const size_t place : {size_t{0}, size_t{9}, size_t{30}, size_t{45}, size_t{60}, size_t{80}, size_t{300}}) {
    save({100});
    const std::string path = named(".conversation").at(0).string();
    std::string text = read_file(path);
    text[std::min(place, text.size() - 1)] ^= 1;
    write_file(path, text);
    EXPECT_TRUE(load().empty()) << place;
  }
  for (const size_t length : {size_t{0}, size_t{10}, size_t{70}, size_t{200}}) {
    save({100});
    const std::string path = named(".conversation").at(0).string();
    write_file(path, read_file(path).substr(0, length));
    EXPECT_TRUE(load().empty()) << length;
  }
  save({100});
  const std::string page = named(".page").at(0).string();
  std::string bytes = read_file(page);
  bytes[bytes.size() / 2] ^= 1;
  write_file(page, bytes);
  EXPECT_TRUE(load().empty());
  save({100});  // the broken page is written anew
  EXPECT_EQ(load().size(), 1u);
}

TEST_P(CacheFilesTest, TheLimitHolds) {
  const size_t limit = 5 * engine->page_bytes() + 4 * engine->info().state_bytes + 4096;
  const auto files = open(kModel, limit);
  for (size_t length = 20; length <= 160; length += 20) {
    files->save(checkpoint(length));
    files->flush();
    EXPECT_LE(files->bytes(), limit);
  }
  EXPECT_GE(named(".conversation").size(), 1u);
  EXPECT_LT(named(".conversation").size(), 8u);
}

TEST_P(CacheFilesTest, OneAtATime) {
  const auto files = open();
  EXPECT_THAT(message_of(CacheFiles::open(folder / "cache", 1, kModel, RecordLimits::of(*engine))),
              HasSubstr("another server"));
  EXPECT_THAT(message_of(CacheFiles::open("/proc/nowhere", 1, kModel, RecordLimits::of(*engine))),
              HasSubstr("/proc/nowhere"));
}

INSTANTIATE_TEST_SUITE_P(Models, CacheFilesTest, ::testing::Values("llama", "qwen35moe", "qwen4exp"));

}  // namespace
}  // namespace terrace::serve
