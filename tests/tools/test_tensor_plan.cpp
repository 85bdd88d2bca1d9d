// Orders, changes and merges of values, on matrices small enough to read.
#include <gmock/gmock.h>

#include "base/cpu.h"
#include "tools/checkpoints.h"
#include "tools/convert/blocks.h"
#include "tools/convert/orders.h"
#include "tools/convert/tensor_writer.h"

namespace terrace::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::message_of;
using testing::need;
using testing::take;
using testing::TemporaryFolder;

std::vector<uint64_t> sources(const Order& order) {
  std::vector<uint64_t> list;
  for (uint64_t i = 0; i < order.count; ++i) list.push_back(order.source(i));
  return list;
}

TEST(Orders, TurnHalvesIntoPairs) { EXPECT_THAT(sources(rotary_pairs(2, 4, 1)), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7)); }

TEST(Orders, LetValueHeadsTakeTurns) {
  // Two key heads with three value heads each; value heads of two units, behind one unit that stays.
  EXPECT_THAT(sources(ValueHeads{2, 6}.order(1)), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(sources(ValueHeads{2, 4}.order(1, 2, 1)), ElementsAre(0, 1, 2, 5, 6, 3, 4, 7, 8));
}

TEST(Orders, TakeColumnsAsRows) {
  EXPECT_THAT(sources(transposed(2, 3)), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(sources(transposed(2, 4, 1, 2)), ElementsAre(1, 5, 3, 7));
}

class TensorPlanTest : public ::testing::Test {
 protected:
  TensorPlanTest() {
    std::vector<std::pair<std::string, format::SafetensorsArray>> arrays = {{"a.0.w", {"F32", {2, 2}, {}}},
                                                                            {"a.1.w", {"F32", {2, 2}, {}}},
                                                                            {"n", {"F32", {2}, {}}},
                                                                            {"both", {"F32", {2, 2, 1}, {}}}};
    const std::vector<float> values = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    auto writer = take(format::SafetensorsWriter::create(folder / "model.safetensors", arrays));
    need(writer.write(std::as_bytes(std::span(values))));
    need(writer.finish());
  }

  /// The values of the only tensor of a plan, as a file holds them.
  std::vector<float> written(const TensorPlan& plan) {
    const PlannedTensor& tensor = plan.tensors().at(0);
    format::GgufTensor out{tensor.name, 0, {tensor.shape.rbegin(), tensor.shape.rend()}, 0, {}};
    auto gguf = take(ResumableGguf::open(folder / "out.gguf", {}, {out}, ""));
    ThreadTeam team(1, usable_cores());
    need(TensorWriter(plan.checkpoint(), team).write(tensor, *format::find_block_type(0), gguf, [] { return true; }));
    need(gguf.finish());
    const auto file = take(format::GgufFile::open(folder / "out.gguf"));
    std::vector<float> values(tensor.values());
    std::memcpy(values.data(), file.tensors()[0].data.data(), values.size() * sizeof(float));
    return values;
  }

  TemporaryFolder folder;
};

TEST_F(TensorPlanTest, StacksExperts) {
  const auto checkpoint = take(Checkpoint::open(folder / ""));
  TensorPlan plan(checkpoint);
  stack_experts(Scope(plan, "a.", "b."), "{}.w", "w", 2, {2, 2});
  EXPECT_THAT(plan.tensors()[0].shape, ElementsAre(2, 2, 2));
  EXPECT_THAT(written(plan), ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST_F(TensorPlanTest, TakesRowsOfEachMatrix) {
  const auto checkpoint = take(Checkpoint::open(folder / ""));
  TensorPlan plan(checkpoint);
  plan.copy_rows("both", "up", {2, 2, 1}, 1, {2, 1, 1});
  EXPECT_THAT(written(plan), ElementsAre(11, 13));
}

TEST_F(TensorPlanTest, ChangesValues) {
  const auto checkpoint = take(Checkpoint::open(folder / ""));
  TensorPlan plan(checkpoint);
  plan.copy("n", "norm", {2}, {every(1, 0, 1, 2), Change::add_one, {}});
  EXPECT_THAT(written(plan), ElementsAre(9, 10));
  TensorPlan other(checkpoint);
  other.copy("n", "decay", {2}, {{}, Change::negative_exp, {2, 1}});
  EXPECT_THAT(written(other), ElementsAre(static_cast<float>(-std::exp(8.0)), static_cast<float>(-std::exp(9.0))));
}

TEST_F(TensorPlanTest, KeepsTheFirstProblem) {
  const auto checkpoint = take(Checkpoint::open(folder / ""));
  TensorPlan plan(checkpoint);
  plan.copy("n", "norm", {2});
  EXPECT_THAT(message_of(plan.status()), HasSubstr("'a.0.w' and 2 more"));
  plan.copy("n", "norm", {2});
  EXPECT_THAT(message_of(plan.status()), HasSubstr("written twice"));
  plan.copy("none", "other", {2});
  EXPECT_THAT(message_of(plan.status()), HasSubstr("written twice"));
}

}  // namespace
}  // namespace terrace::tools
