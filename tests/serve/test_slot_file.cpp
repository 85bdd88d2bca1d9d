// A conversation in a file: it comes back with its bits, or not at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "model/runs.h"
#include "serve/slot_file.h"

namespace terrace::serve {
namespace {

using ::testing::HasSubstr;
using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

constexpr Fingerprint kModel{1, 2};

class SlotFileTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    engine::Sequence sequence;
    std::vector<std::shared_ptr<const engine::Checkpoint>> conversation;
    for (const size_t end : {size_t{70}, size_t{100}}) {
      feed(*engine, sequence, std::span(tokens).subspan(sequence.size(), end - sequence.size()), 50);
      conversation.push_back(std::make_shared<const engine::Checkpoint>(sequence.checkpoint()));
    }
    bytes = take(write_slot_file(path, conversation, kModel, RecordLimits::of(*engine)));
  }
  std::string refusal() { return message_of(read_slot_file(path, kModel, *engine)); }

  TemporaryFolder folder;
  std::string path = folder / "slot";
  std::unique_ptr<engine::Engine> engine = testing::load(GetParam(), {.threads = 1});
  std::vector<int32_t> tokens = recorded_tokens(GetParam());
  uint64_t bytes = 0;
};

TEST_P(SlotFileTest, AConversationComesBackWithItsBits) {
  const SlotFile file = take(read_slot_file(path, kModel, *engine));
  EXPECT_EQ(file.bytes, bytes);
  EXPECT_EQ(bytes, std::filesystem::file_size(path));
  engine::Sequence straight;
  const auto all = feed(*engine, straight, tokens, 64);
  ASSERT_EQ(file.conversation.size(), 2u);
  for (const engine::Checkpoint& checkpoint : file.conversation) {
    engine::Sequence resumed;
    resumed.restore(checkpoint);
    const auto rest = feed(*engine, resumed, std::span(tokens).subspan(resumed.size()), 13);
    EXPECT_TRUE(same_bits(rest, std::span(all).last(rest.size())));
  }
  EXPECT_EQ(file.conversation[0].pages[0], file.conversation[1].pages[0]);  // shared again
}

TEST_P(SlotFileTest, AnyBrokenByteIsFound) {
  const std::string whole = read_file(path);
  for (size_t place = 0; place < whole.size(); place += 1 + whole.size() / 50) {
    std::string text = whole;
    text[place] ^= 4;
    write_file(path, text);
    EXPECT_FALSE(read_slot_file(path, kModel, *engine)) << place;
  }
  for (const size_t length : {size_t{0}, size_t{10}, size_t{70}, whole.size() / 2, whole.size() - 1}) {
    write_file(path, whole.substr(0, length));
    EXPECT_FALSE(read_slot_file(path, kModel, *engine)) << length;
  }
  write_file(path, whole + "x");
  EXPECT_THAT(refusal(), HasSubstr("do not add up"));
}

TEST_P(SlotFileTest, OtherModelsConversationsAreRefused) {
  EXPECT_THAT(message_of(read_slot_file(path, {1, 3}, *engine)), HasSubstr("another model"));
}

/// Records that are whole, and say what cannot be.
TEST_P(SlotFileTest, ImpossibleRecordsAreRefused) {
  const RecordLimits limits = RecordLimits::of(*engine);
  engine::Sequence sequence;
  feed(*engine, sequence, std::span(tokens).first(10), 10);
  const engine::Checkpoint good = sequence.checkpoint();
  const auto refusal_of = [&](const engine::Checkpoint& checkpoint, const std::vector<std::string>& pages) {
    const std::string text = encode_record(checkpoint, pages, kModel, limits);
    return message_of(decode_record(std::as_bytes(std::span(text)), kModel, limits));
  };
  const std::string name(32, 'a');
  EXPECT_THAT(refusal_of(good, {name, name}), HasSubstr("do not add up"));
  EXPECT_THAT(refusal_of(good, {}), HasSubstr("do not add up"));
  EXPECT_THAT(refusal_of(good, {std::string(31, 'a') + "/"}), HasSubstr("cannot be"));
  engine::Checkpoint bad = sequence.checkpoint();
  bad.tokens[3] = static_cast<int32_t>(limits.vocabulary);
  EXPECT_THAT(refusal_of(bad, {name}), HasSubstr("tokens"));
  bad.tokens[3] = -1;
  EXPECT_THAT(refusal_of(bad, {name}), HasSubstr("tokens"));
  bad.tokens.assign(limits.context + 1, 0);
  EXPECT_THAT(refusal_of(bad, std::vector<std::string>(limits.context / 64 + 1, name)), HasSubstr("do not add up"));
}

INSTANTIATE_TEST_SUITE_P(Models, SlotFileTest, ::testing::Values("llama", "qwen35moe", "qwen4exp"));

}  // namespace
}  // namespace terrace::serve
