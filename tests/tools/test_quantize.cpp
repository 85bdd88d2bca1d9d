// terrace quantize: what is written, what is refused, and what an interrupt leaves.
#include <gmock/gmock.h>

#include <cmath>
#include <random>

#include "format/encode.h"
#include "format/gguf_writer.h"
#include "support/files.h"
#include "tools/importance.h"
#include "tools/quantize.h"
#include "tools/sketch.h"

namespace terrace::tools {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::need;
using testing::read_file;
using testing::take;
using testing::TemporaryFolder;

const Progress kGoOn = [](uint64_t, uint64_t, std::string_view) { return true; };

class Quantize : public ::testing::Test {
 protected:
  void SetUp() override { write_model("in.gguf"); }

  static std::vector<format::GgufTensor> tensors() {
    return {{"token_embd.weight", 0, {256, 40}},
            {"blk.0.attn_norm.weight", 0, {256}},
            {"blk.0.ffn_up.weight", 0, {256, 300}},
            {"blk.0.ffn_down_exps.weight", 0, {256, 20, 3}}};
  }

  void write_model(const std::string& name, float bad = 0, const std::vector<format::GgufTensor>& list = tensors()) {
    format::GgufMetadata metadata;
    metadata.set("general.architecture", "llama");
    metadata.set("llama.block_count", uint32_t{1});
    auto writer = take(format::GgufWriter::create(folder / name, metadata, list));
    std::mt19937 random(5);
    std::normal_distribution<float> normal(0, 0.05F);
    for (const auto& tensor : list) {
      std::vector<float> values(tensor.elements());
      for (float& value : values) value = normal(random);
      if (bad != 0 && tensor.name == "blk.0.ffn_up.weight") values[256 * 17 + 3] = bad;
      need(writer.write(std::as_bytes(std::span(values))));
    }
    need(writer.finish());
  }

  QuantizeOptions options(const std::string& mix = "Q4_K_M") const {
    QuantizeOptions options;
    options.in = folder / "in.gguf";
    options.out = folder / "out.gguf";
    options.mix = mix;
    options.threads = 2;
    return options;
  }
  bool exists(const std::string& name) const { return std::filesystem::exists(folder / name); }

  static std::vector<float> values_of(const format::GgufFile& file, const std::string& name) {
    const format::GgufTensor* tensor = file.find(name);
    const format::BlockType& type = *format::find_block_type(tensor->type);
    std::vector<float> values(tensor->elements());
    format::decode_values(type, tensor->data.data(), values.size(), values.data());
    return values;
  }

  /// The sum of the squares of what rows of 256 columns give for inputs x, instead of what they should.
  static double output_error(std::span<const float> x, std::span<const float> want, std::span<const float> got) {
    double sum = 0;
    for (size_t row = 0; row < want.size(); row += 256) {
      for (size_t n = 0; n < x.size(); n += 256) {
        double output = 0;
        for (size_t i = 0; i < 256; ++i) output += double{x[n + i]} * (got[row + i] - want[row + i]);
        sum += output * output;
      }
    }
    return sum;
  }

  TemporaryFolder folder;
};

TEST_F(Quantize, WritesTheMixWithItsMetadata) {
  take(quantize(options(), kGoOn));
  const auto in = take(format::GgufFile::open(folder / "in.gguf")),
             out = take(format::GgufFile::open(folder / "out.gguf"));
  EXPECT_EQ(take(out.metadata().integer("general.file_type")), 15U);
  EXPECT_EQ(take(out.metadata().integer("general.quantization_version")), 2U);
  EXPECT_EQ(take(out.metadata().string("general.architecture")), "llama");
  EXPECT_EQ(out.find("token_embd.weight")->type, 14U);  // tied: Q6_K
  EXPECT_EQ(out.find("blk.0.ffn_up.weight")->type, 12U);
  EXPECT_EQ(values_of(in, "blk.0.attn_norm.weight"), values_of(out, "blk.0.attn_norm.weight"));
  const auto before = values_of(in, "blk.0.ffn_up.weight"), after = values_of(out, "blk.0.ffn_up.weight");
  double error = 0, norm = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    error += std::pow(before[i] - after[i], 2);
    norm += std::pow(before[i], 2);
  }
  EXPECT_LT(std::sqrt(error / norm), 0.1);
  EXPECT_FALSE(exists("out.gguf.part"));
}

TEST_F(Quantize, GivesTheSameBytesWithAnyNumberOfThreads) {
  QuantizeOptions one = options("Q3_K_M"), three = one;
  one.threads = 1;
  three.threads = 3;
  three.out = folder / "three.gguf";
  take(quantize(one, kGoOn));
  take(quantize(three, kGoOn));
  EXPECT_EQ(read_file(one.out), read_file(three.out));
}

TEST_F(Quantize, GoesOnAfterAnInterruptWithTheSameBytes) {
  take(quantize(options(), kGoOn));
  const std::string whole = read_file(folder / "out.gguf");
  std::filesystem::remove(folder / "out.gguf");
  int calls = 0;
  const auto stopped = quantize(options(), [&](uint64_t, uint64_t, std::string_view) { return ++calls < 2; });
  EXPECT_EQ(message_of(stopped), kInterrupted);
  EXPECT_FALSE(exists("out.gguf"));
  EXPECT_TRUE(exists("out.gguf.part"));
  EXPECT_GT(take(quantize(options(), kGoOn)).kept, 0U);
  EXPECT_EQ(read_file(folder / "out.gguf"), whole);
}

TEST_F(Quantize, StartsAnewWhenTheOptionsDiffer) {
  int calls = 0;
  EXPECT_FALSE(quantize(options(), [&](uint64_t, uint64_t, std::string_view) { return ++calls < 2; }));
  EXPECT_EQ(take(quantize(options("Q5_K_M"), kGoOn)).kept, 0U);
}

TEST_F(Quantize, ValuesThatAreNotFiniteAreNamedAndNothingIsLeft) {
  for (const float bad : {NAN, INFINITY}) {
    write_model("in.gguf", bad);
    const std::string message = message_of(quantize(options(), kGoOn));
    EXPECT_THAT(message, HasSubstr("'blk.0.ffn_up.weight'"));
    EXPECT_THAT(message, HasSubstr("row 17"));
    EXPECT_FALSE(exists("out.gguf"));
    EXPECT_FALSE(exists("out.gguf.part"));
  }
}

TEST_F(Quantize, ValuesTooLargeForHalvesAreNamed) {
  write_model("in.gguf", 1e5F);
  EXPECT_THAT(message_of(quantize(options("F16"), kGoOn)), HasSubstr("'blk.0.ffn_up.weight' has a value in row 17"));
  EXPECT_EQ(message_of(quantize(options("BF16"), kGoOn)), "");
}

TEST_F(Quantize, RefusesWhatItCannotDo) {
  EXPECT_THAT(message_of(quantize(options("Q4"), kGoOn)), HasSubstr("the type 'Q4' is unknown; these are: F32"));
  QuantizeOptions same = options();
  same.out = same.in;
  EXPECT_THAT(message_of(quantize(same, kGoOn)), HasSubstr("is the input"));
  take(quantize(options("Q8_0"), kGoOn));
  QuantizeOptions again = options();
  again.in = folder / "out.gguf";
  again.out = folder / "again.gguf";
  EXPECT_THAT(message_of(quantize(again, kGoOn)), HasSubstr("already quantised (Q8_0)"));
  again.from_quantized = true;
  EXPECT_EQ(message_of(quantize(again, kGoOn)), "");
}

TEST_F(Quantize, KeepsTheSplitOfItsInput) {
  // Two shards, as a split model has them.
  std::filesystem::create_directory(folder / "split");
  const auto all = tensors();
  for (size_t shard = 0; shard < 2; ++shard) {
    format::GgufMetadata metadata;
    if (shard == 0) metadata.set("general.architecture", "llama");
    metadata.set({"split.no", format::GgufType::u16, uint64_t{shard}});
    metadata.set({"split.count", format::GgufType::u16, uint64_t{2}});
    metadata.set({"split.tensors.count", format::GgufType::i32, int64_t{4}});
    const std::vector<format::GgufTensor> own(all.begin() + static_cast<std::ptrdiff_t>(2 * shard),
                                              all.begin() + static_cast<std::ptrdiff_t>(2 * shard + 2));
    auto writer = take(format::GgufWriter::create(
        folder / ("split/m-0000" + std::to_string(shard + 1) + "-of-00002.gguf"), metadata, own));
    for (const auto& tensor : own) need(writer.write(std::vector<std::byte>(tensor.elements() * 4, std::byte{0})));
    need(writer.finish());
  }
  QuantizeOptions split = options();
  split.in = folder / "split/m-00001-of-00002.gguf";
  split.keep_split = true;
  const auto report = take(quantize(split, kGoOn));
  EXPECT_EQ(report.files,
            (std::vector<std::string>{folder / "out-00001-of-00002.gguf", folder / "out-00002-of-00002.gguf"}));
  EXPECT_EQ(take(format::GgufFile::open(report.files[0])).tensors().size(), 4U);
  // The shards' names of this output would be those of the input.
  QuantizeOptions onto = split;
  onto.out = folder / "split/m.gguf";
  EXPECT_THAT(message_of(quantize(onto, kGoOn)), HasSubstr("m-00001-of-00002.gguf is the input"));
  split.keep_split = false;
  EXPECT_FALSE(take(format::GgufFile::open(take(quantize(split, kGoOn)).files[0])).metadata().contains("split.count"));
}

TEST_F(Quantize, ImportanceOfEachExpertCounts) {
  ImportanceFile importance;
  ColumnSums sums{256, std::vector<double>(3 * size_t{256}, 1.0), {1, 1, 1}};
  for (size_t i = 0; i < 256; i += 4) sums.squares[256 + i] = 400;  // some columns of the second expert
  importance.tensors["blk.0.ffn_down_exps.weight"] = sums;
  need(save_importance(folder / "imatrix.gguf", importance));
  QuantizeOptions plain = options("Q2_K"), weighted = plain;
  // Without rules about the first layers, which differ with importance.
  plain.pure = weighted.pure = true;
  weighted.importance = folder / "imatrix.gguf";
  weighted.out = folder / "weighted.gguf";
  take(quantize(plain, kGoOn));
  EXPECT_TRUE(take(quantize(weighted, kGoOn)).tensors[3].important);
  const auto in = take(format::GgufFile::open(plain.in)), a = take(format::GgufFile::open(plain.out)),
             b = take(format::GgufFile::open(weighted.out));
  const auto error = [&](const format::GgufFile& file) {
    const auto want = values_of(in, "blk.0.ffn_down_exps.weight"), got = values_of(file, "blk.0.ffn_down_exps.weight");
    double sum = 0;
    for (size_t row = 20; row < 40; ++row)
      for (size_t i = 0; i < 256; i += 4) sum += std::pow(want[row * 256 + i] - got[row * 256 + i], 2);
    return sum;
  };
  EXPECT_LT(error(b), 0.9 * error(a));
}

TEST_F(Quantize, SketchesOfInputsLowerTheErrorOfOutputs) {
  // Inputs that are mostly sums of 8 vectors, which squares do not tell of.
  std::vector<float> x(200 * size_t{256}), vectors(8 * size_t{256});
  std::mt19937 random(8);
  std::normal_distribution<float> normal;
  for (float& value : vectors) value = normal(random);
  for (size_t n = 0; n < x.size(); n += 256) {
    for (size_t i = 0; i < 256; ++i) x[n + i] = 0.3F * normal(random);
    for (size_t k = 0; k < vectors.size(); k += 256) {
      const float amount = normal(random);
      for (size_t i = 0; i < 256; ++i) x[n + i] += amount * vectors[k + i];
    }
  }
  ColumnSums sums{256, std::vector<double>(256), {200}, std::vector<double>(256 * format::kDirections)};
  for (size_t i = 0; i < x.size(); ++i) sums.squares[i % 256] += double{x[i]} * x[i];
  ImportanceFile importance;
  importance.tensors["blk.0.ffn_up.weight"] = sums;
  need(save_importance(folder / "squares.gguf", importance));
  Sketcher(256).add(x.data(), 200, 256, 1, importance.tensors["blk.0.ffn_up.weight"].sketch);
  need(save_importance(folder / "sketch.gguf", importance));
  QuantizeOptions squares = options(), sketch = squares;
  squares.importance = folder / "squares.gguf";
  sketch.importance = folder / "sketch.gguf";
  sketch.out = folder / "sketch-out.gguf";
  take(quantize(squares, kGoOn));
  take(quantize(sketch, kGoOn));
  const auto in = take(format::GgufFile::open(squares.in));
  const auto error = [&](const std::string& path) {
    return output_error(x, values_of(in, "blk.0.ffn_up.weight"),
                        values_of(take(format::GgufFile::open(path)), "blk.0.ffn_up.weight"));
  };
  EXPECT_LT(error(sketch.out), 0.5 * error(squares.out));
}

TEST_F(Quantize, AnEmbeddingThatIsNotTheHeadIsWeighedByItsReaders) {
  auto untied = tensors();
  untied.push_back({"output.weight", 0, {256, 40}});
  write_model("untied.gguf", 0, untied);
  QuantizeOptions with = options("Q4_K");
  with.in = folder / "untied.gguf";
  take(quantize(with, kGoOn));
  const auto in = take(format::GgufFile::open(with.in)), out = take(format::GgufFile::open(with.out));
  EXPECT_FALSE(out.metadata().contains("quantize.imatrix.file"));
  const auto want = values_of(in, "token_embd.weight"), reader = values_of(in, "blk.0.ffn_up.weight");
  const format::BlockType& type = *format::find_block_type(out.find("token_embd.weight")->type);
  std::vector<std::byte> blocks(want.size() / type.values * type.bytes);
  format::encode_rows(type, want.data(), 40, 256, {}, blocks.data());
  std::vector<float> plain(want.size());
  format::decode_values(type, blocks.data(), plain.size(), plain.data());
  EXPECT_LT(output_error(reader, want, values_of(out, "token_embd.weight")), 0.8 * output_error(reader, want, plain));
  QuantizeOptions three = with;
  three.threads = 3;
  three.out = folder / "three.gguf";
  take(quantize(three, kGoOn));
  EXPECT_EQ(read_file(with.out), read_file(three.out));
  // Weighing comes first, and can be interrupted as well.
  three.out = folder / "stopped.gguf";
  EXPECT_EQ(message_of(quantize(three, [](uint64_t, uint64_t, std::string_view) { return false; })), kInterrupted);
  EXPECT_TRUE(exists("stopped.gguf.part"));
  take(quantize(three, kGoOn));
  EXPECT_EQ(read_file(with.out), read_file(three.out));
}

TEST_F(Quantize, ImportanceOfAnotherModelIsRefused) {
  ImportanceFile importance;
  importance.tensors["blk.0.ffn_up.weight"] = {128, std::vector<double>(128, 1.0), {1}};
  need(save_importance(folder / "imatrix.gguf", importance));
  QuantizeOptions wrong = options();
  wrong.importance = folder / "imatrix.gguf";
  EXPECT_THAT(message_of(quantize(wrong, kGoOn)),
              HasSubstr("1 matrices of 128 columns, but the model's tensor has 1 of 256"));
  importance.tensors = {{"other", {4, {1, 1, 1, 1}, {1}}}};
  need(save_importance(folder / "imatrix.gguf", importance));
  EXPECT_THAT(message_of(quantize(wrong, kGoOn)), HasSubstr("is about no tensor of this model"));
}

}  // namespace
}  // namespace terrace::tools
