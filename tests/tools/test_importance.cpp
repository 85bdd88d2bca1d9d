// Importance matrices: their files, and what a model's products add to them.
#include <gmock/gmock.h>

#include "compute/cpu/cpu_backend.h"
#include "format/gguf_writer.h"
#include "support/files.h"
#include "tools/importance_collector.h"

namespace terrace::tools {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::message_of;
using testing::need;
using testing::take;
using testing::TemporaryFolder;

const Progress kGoOn = [](uint64_t, uint64_t, std::string_view) { return true; };

TEST(Importance, ComesBackFromItsFile) {
  TemporaryFolder folder;
  ImportanceFile file;
  file.tensors["a"] = {2, {1, 2, 3, 4}, {1, 2}};
  file.datasets = {"prose"};
  file.chunks = 3;
  file.chunk_size = 512;
  need(save_importance(folder / "i.gguf", file));
  const auto loaded = take(load_importance(folder / "i.gguf"));
  EXPECT_EQ(loaded.tensors.at("a").squares, file.tensors["a"].squares);
  EXPECT_EQ(loaded.tensors.at("a").counts, file.tensors["a"].counts);
  EXPECT_EQ(loaded.datasets, file.datasets);
  EXPECT_EQ(loaded.chunks, 3U);
  EXPECT_EQ(loaded.chunk_size, 512U);
}

/// 40 inputs of 128 columns.
std::vector<float> some_inputs() {
  std::vector<float> x(40 * size_t{128});
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(1 + i * i % 13) / 8;
  return x;
}

/// Their sums, with their sketch.
ColumnSums sketched_sums() {
  const std::vector<float> x = some_inputs();
  ColumnSums sums{128, std::vector<double>(128), {40}, std::vector<double>(128 * format::kDirections)};
  for (size_t i = 0; i < x.size(); ++i) sums.squares[i % 128] += double{x[i]} * x[i];
  Sketcher(128).add(x.data(), 40, 128, 1, sums.sketch);
  return sums;
}

TEST(Importance, ComesBackWithItsSketch) {
  TemporaryFolder folder;
  ImportanceFile file;
  file.tensors["a"] = sketched_sums();
  file.tensors["b"] = {2, {1, 2}, {1}, {}};
  need(save_importance(folder / "i.gguf", file));
  const auto loaded = take(load_importance(folder / "i.gguf"));
  EXPECT_EQ(loaded.tensors.at("a").sketch, file.tensors["a"].sketch);
  EXPECT_EQ(column_directions(loaded.tensors.at("a")), column_directions(file.tensors["a"]));
  EXPECT_EQ(column_directions(loaded.tensors.at("a")).size(), 128 * format::kDirections);
  EXPECT_THAT(column_directions(loaded.tensors.at("b")), IsEmpty());
}

TEST(Importance, IsAMeanPerColumnAndUnusedMatricesTakeThatOfTheOthers) {
  EXPECT_THAT(column_importance({2, {2, 4, 0, 0, 9, 12}, {2, 0, 3}}), ElementsAre(1, 2, 2, 3, 3, 4));
  EXPECT_THAT(column_importance({2, {0, 0}, {0}}), ElementsAre(1, 1));
}

class ImportanceRefusal : public ::testing::Test {
 protected:
  std::string refusal(const std::string& type,
                      const std::vector<std::pair<format::GgufTensor, std::vector<float>>>& tensors) {
    format::GgufMetadata metadata;
    metadata.set("general.type", type);
    std::vector<format::GgufTensor> list;
    for (const auto& [tensor, values] : tensors) list.push_back(tensor);
    auto writer = take(format::GgufWriter::create(folder / "i.gguf", metadata, list));
    for (const auto& [tensor, values] : tensors) need(writer.write(std::as_bytes(std::span(values))));
    need(writer.finish());
    return message_of(load_importance(folder / "i.gguf"));
  }
  TemporaryFolder folder;
};

TEST_F(ImportanceRefusal, NamesWhatIsWrong) {
  EXPECT_THAT(refusal("model", {}), HasSubstr("is no importance matrix"));
  EXPECT_THAT(refusal("imatrix", {}), HasSubstr("has no sums"));
  EXPECT_THAT(refusal("imatrix", {{{"a.in_sum2", 0, {2, 1}}, {1, 2}}}), HasSubstr("'a' has sums but no counts"));
  EXPECT_THAT(refusal("imatrix", {{{"a.in_sum2", 0, {2, 1}}, {1, -2}}, {{"a.counts", 0, {1, 1}}, {1}}}),
              HasSubstr("has -2 at 1"));
  EXPECT_THAT(refusal("imatrix", {{{"a.in_sum2", 0, {2, 1}}, {1, NAN}}, {{"a.counts", 0, {1, 1}}, {1}}}),
              HasSubstr("nan at 1"));
  EXPECT_THAT(refusal("imatrix", {{{"a.in_sum2", 0, {2, 2}}, {1, 1, 1, 1}}, {{"a.counts", 0, {1, 1}}, {1}}}),
              HasSubstr("4 sums of 2 columns and 1 counts"));
  EXPECT_THAT(refusal("imatrix", {{{"a.in_sum2", 0, {1, 1}}, {3e38F}}, {{"a.counts", 0, {1, 1}}, {1e-3F}}}),
              HasSubstr("a count between 0 and 1"));
  EXPECT_FALSE(load_importance(folder / "missing.gguf"));
}

TEST_F(ImportanceRefusal, NamesWhatIsWrongWithASketch) {
  const ColumnSums sums = sketched_sums();
  const std::vector<float> squares(sums.squares.begin(), sums.squares.end());
  const auto with = [&](std::vector<uint64_t> shape, const std::vector<float>& sketch, uint64_t matrices = 1) {
    return refusal("imatrix", {{{"a.in_sum2", 0, {128 / matrices, matrices}}, squares},
                               {{"a.counts", 0, {1, matrices}}, std::vector<float>(matrices, 40)},
                               {{"a.in_sketch", 0, std::move(shape)}, sketch}});
  };
  std::vector<float> sketch(sums.sketch.begin(), sums.sketch.end());
  EXPECT_EQ(with({64, 128}, sketch), "");
  EXPECT_THAT(with({64, 127}, std::vector<float>(64 * size_t{127})), HasSubstr("a sketch of 8128 values"));
  EXPECT_THAT(with({64, 128}, sketch, 2), HasSubstr("'a' has 128 sums and a sketch of 8192 values"));
  sketch[5] = INFINITY;
  EXPECT_THAT(with({64, 128}, sketch), HasSubstr("tensor 'a.in_sketch' has inf at 5"));
  sketch[5] = -2 * std::abs(static_cast<float>(sums.sketch[5])) - 100;
  EXPECT_THAT(with({64, 128}, sketch), HasSubstr("the sketch of 'a' does not belong to its sums of squares"));
}

TEST(ImportanceCollectorTest, SumsTheSquaresOfNormalisedInputs) {
  ImportanceCollector collector;
  auto inner = take(compute::CpuBackend::create({1, "scalar", true}));
  compute::ObservingBackend backend(*inner, collector);
  const std::vector<float> weights(16 * size_t{32}, 0.5F);
  const auto matrix = backend.place({0, 16, 32, std::as_bytes(std::span(weights)), "m"});
  std::vector<float> x(2 * size_t{32}, 2.0F), out(2 * size_t{16});
  const compute::Rows rows{x.data(), 2, 32, 32};
  const compute::Linear linear[] = {{matrix.get(), nullptr, {out.data(), 2, 16, 16}}};
  backend.linear(rows, std::nullopt, linear);
  EXPECT_EQ(collector.sums().at("m").squares[5], 8);
  EXPECT_THAT(collector.sums().at("m").counts, ElementsAre(2));
  backend.linear(rows, compute::Norm{nullptr, 0}, linear);
  EXPECT_EQ(collector.sums().at("m").squares[5], 10);
  EXPECT_EQ(out[0], 16);  // the inner backend's own result
}

TEST(ImportanceCollectorTest, SketchesWideSingleMatrices) {
  ImportanceCollector collector;
  auto inner = take(compute::CpuBackend::create({1, "scalar", true}));
  compute::ObservingBackend backend(*inner, collector);
  const std::vector<float> weights(16 * size_t{128}, 0.5F);
  const auto wide = backend.place({0, 16, 128, std::as_bytes(std::span(weights)), "wide"});
  const auto narrow = backend.place({0, 16, 64, std::as_bytes(std::span(weights).first(16 * size_t{64})), "narrow"});
  std::vector<float> x = some_inputs(), out(40 * size_t{16});
  const compute::Linear with_wide[] = {{wide.get(), nullptr, {out.data(), 40, 16, 16}}},
                        with_narrow[] = {{narrow.get(), nullptr, {out.data(), 40, 16, 16}}};
  backend.linear({x.data(), 40, 128, 128}, std::nullopt, with_wide);
  backend.linear({x.data(), 40, 64, 64}, std::nullopt, with_narrow);
  EXPECT_EQ(collector.sums().at("wide").squares, sketched_sums().squares);
  EXPECT_EQ(collector.sums().at("wide").sketch, sketched_sums().sketch);
  EXPECT_THAT(collector.sums().at("narrow").sketch, IsEmpty());
}

TEST(ImportanceCollectorTest, AnObservedModelGivesTheSameBitsAndSeesAllOfItsMatrices) {
  for (const std::string name :
       {"llama", "qwen3moe", "gptoss", "qwen35moe", "qwen4exp", "lfm2moe", "gemma4-moe", "granitehybrid"}) {
    const std::string path = testing::fixture(name + "/model-f32.gguf");
    engine::EngineOptions options;
    auto plain = take(engine::Engine::load(path, options));
    ImportanceCollector collector;
    options.observer = &collector;
    auto observed = take(engine::Engine::load(path, options));
    std::vector<int32_t> tokens;
    for (int32_t i = 0; i < 40; ++i) tokens.push_back(7 * i % 200);
    std::vector<float> logits[2];
    for (const bool watch : {false, true}) {
      engine::Sequence sequence;
      const engine::Advance advance[] = {{&sequence, tokens, engine::Advance::Logits::last}};
      const auto rows = take((watch ? *observed : *plain).step(advance));
      logits[watch].assign(rows.row(0), rows.row(0) + rows.width);
    }
    EXPECT_EQ(logits[0], logits[1]) << name;
    const auto importance = take(collect_importance(*observed, collector, tokens, 20, kGoOn));
    EXPECT_EQ(importance.chunks, 2U);
    const auto file = take(format::GgufFile::open(path));
    for (const auto& [tensor, sums] : importance.tensors) {
      ASSERT_NE(file.find(tensor), nullptr) << name << " " << tensor;
      EXPECT_EQ(sums.columns, file.find(tensor)->shape[0]) << name << " " << tensor;
      const auto& shape = file.find(tensor)->shape;
      EXPECT_EQ(sums.counts.size(), shape.size() > 2 ? shape[2] : 1) << name << " " << tensor;
      const bool sketched = shape.size() < 3 && sums.columns >= kLeastSketchedColumns;
      EXPECT_EQ(!sums.sketch.empty(), sketched) << name << " " << tensor;
      EXPECT_EQ(!column_directions(sums).empty(), sketched) << name << " " << tensor;
    }
    const std::string draft_head = "blk." + std::to_string(plain->info().layers) + ".";
    for (const auto& tensor : file.tensors()) {
      if (tensor.name.find("ffn_down") == std::string::npos || !tensor.name.ends_with("weight") ||
          tensor.name.starts_with(draft_head))
        continue;
      EXPECT_TRUE(importance.tensors.contains(tensor.name)) << name << " " << tensor.name;
    }
  }
}

}  // namespace
}  // namespace terrace::tools
