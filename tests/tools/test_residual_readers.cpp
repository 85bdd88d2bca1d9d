// The moments of the matrices that read the residual stream.
#include <gmock/gmock.h>

#include "base/cpu.h"
#include "format/encode.h"
#include "format/gguf_writer.h"
#include "support/files.h"
#include "support/numbers.h"
#include "tools/residual_readers.h"

namespace terrace::tools {
namespace {

using ::testing::IsEmpty;
using testing::need;
using testing::random_floats;
using testing::take;
using testing::TemporaryFolder;

constexpr size_t kColumns = 32;

class ResidualReaders : public ::testing::Test {
 protected:
  struct Tensor {
    std::string name;
    std::vector<float> values;
    uint64_t rows;
    std::string type = "F32";
  };

  std::vector<float> moments(const std::vector<Tensor>& tensors, size_t threads = 1, size_t columns = kColumns,
                             uint64_t layers = 2) {
    format::GgufMetadata metadata;
    metadata.set("general.architecture", "llama");
    metadata.set({"llama.block_count", format::GgufType::u64, layers});
    std::vector<format::GgufTensor> list;
    for (const Tensor& tensor : tensors)
      list.push_back(
          {tensor.name, format::find_block_type(tensor.type)->code, {tensor.values.size() / tensor.rows, tensor.rows}});
    auto writer = take(format::GgufWriter::create(folder_ / "m.gguf", metadata, list));
    for (const Tensor& tensor : tensors) {
      const format::BlockType& type = *format::find_block_type(tensor.type);
      std::vector<std::byte> blocks(tensor.values.size() / type.values * type.bytes);
      format::encode_rows(type, tensor.values.data(), tensor.rows, tensor.values.size() / tensor.rows, {},
                          blocks.data());
      need(writer.write(blocks));
    }
    need(writer.finish());
    ThreadTeam team(threads, usable_cores());
    return take(
        moments_of_readers(take(format::GgufFile::open(folder_ / "m.gguf")), columns, team, [] { return true; }));
  }

  /// W^T W with a mean of 1 on the diagonal, each column behind its gain.
  static std::vector<double> expected(std::vector<float> rows, const std::vector<float>& gain) {
    double size = 0;
    for (size_t i = 0; i < rows.size(); ++i) {
      rows[i] *= gain[i % kColumns];
      size += double{rows[i]} * rows[i];
    }
    std::vector<double> sums(kColumns * kColumns);
    for (size_t row = 0; row < rows.size(); row += kColumns)
      for (size_t i = 0; i < kColumns; ++i)
        for (size_t j = 0; j < kColumns; ++j)
          sums[i * kColumns + j] += double{rows[row + i]} * rows[row + j] * kColumns / size;
    return sums;
  }

  TemporaryFolder folder_;
};

TEST_F(ResidualReaders, AddUpBehindTheirNormsWithTheSameSize) {
  const auto query = random_floats(1, 20 * kColumns), up = random_floats(2, 50 * kColumns);
  const auto gain = random_floats(3, kColumns);
  const std::vector<float> ones(kColumns, 1.0F);
  auto larger = up;
  for (float& value : larger) value *= 1000;
  const auto found = moments({{"blk.0.attn_norm.weight", gain, 1},
                              {"blk.0.attn_q.weight", query, 20},
                              {"blk.1.ffn_up.weight", larger, 50},
                              {"blk.1.ffn_down.weight", random_floats(4, 4 * kColumns), 4},
                              {"blk.2.ffn_up.weight", random_floats(5, 4 * kColumns), 4}});
  const auto a = expected(query, gain), b = expected(up, ones);
  ASSERT_EQ(found.size(), kColumns * kColumns);
  for (size_t i = 0; i < kColumns; ++i)
    for (size_t j = 0; j < kColumns; ++j)
      EXPECT_NEAR(found[i * kColumns + j], a[i * kColumns + j] + b[i * kColumns + j] + (i == j ? 0.25 * 2 : 0), 1e-4);
}

TEST_F(ResidualReaders, GiveTheSameBitsWithAnyNumberOfThreads) {
  const std::vector<Tensor> tensors = {{"blk.0.attn_qkv.weight", random_floats(6, 700 * kColumns), 700},
                                       {"blk.0.ffn_gate.weight", random_floats(7, 90 * kColumns), 90, "Q8_0"}};
  EXPECT_EQ(moments(tensors, 1), moments(tensors, 3));
}

TEST_F(ResidualReaders, AreThoseWithAsManyColumns) {
  EXPECT_THAT(moments({{"blk.0.attn_q.weight", random_floats(8, 20 * kColumns), 20}}, 1, 64), IsEmpty());
  EXPECT_THAT(moments({{"output.weight", random_floats(9, 20 * kColumns), 20}}), IsEmpty());
  EXPECT_THAT(moments({{"blk.0.attn_q.weight", random_floats(9, 16416), 1}}, 1, 16416), IsEmpty());
}

TEST_F(ResidualReaders, AreSoughtInNoMoreBlocksThanThereAreTensors) {
  const std::vector<Tensor> tensors = {{"blk.0.attn_q.weight", random_floats(12, 20 * kColumns), 20}};
  EXPECT_EQ(moments(tensors, 1, kColumns, UINT64_MAX), moments(tensors));
}

TEST_F(ResidualReaders, ThatAreNotFiniteOrZeroCountForNothing) {
  auto bad = random_floats(10, 20 * kColumns);
  bad[7] = NAN;
  const auto good = random_floats(11, 20 * kColumns);
  EXPECT_EQ(moments({{"blk.0.attn_q.weight", bad, 20}, {"blk.0.attn_k.weight", good, 20}}),
            moments({{"blk.0.attn_k.weight", good, 20}}));
  EXPECT_THAT(moments({{"blk.0.attn_q.weight", std::vector<float>(20 * kColumns), 20}}), IsEmpty());
}

}  // namespace
}  // namespace terrace::tools
