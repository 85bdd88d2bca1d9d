// The n-gram table stays on disk: a model whose table is far larger than the rest needs no more memory for it.
#include <gtest/gtest.h>

#include <fstream>

#include "model/parts.h"

namespace terrace::engine {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

constexpr uint64_t kTableBytes = uint64_t{384} << 20, kAllowed = uint64_t{64} << 20;

/// The largest resident size of this process so far, in bytes, since reset_peak().
uint64_t peak() {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    uint64_t kilobytes = 0;
    if (word == "VmHWM:" && status >> kilobytes) return kilobytes << 10;
  }
  throw std::runtime_error("no VmHWM");
}
void reset_peak() { std::ofstream("/proc/self/clear_refs") << "5"; }

/// The qwen4exp fixture with a table of kTableBytes, whose heads share it out evenly.
void write_large(const std::string& path) {
  const auto file = take(format::GgufFile::open(fixture("qwen4exp/model-f32.gguf")));
  Parts parts(file);
  format::GgufTensor& table = parts.tensor("per_layer_token_embd.weight");
  const uint64_t row_bytes = table.shape[0] * sizeof(float), rows = kTableBytes / row_bytes, heads = 8;
  table.shape[1] = rows;
  format::GgufArray sizes, offsets;
  sizes.type = offsets.type = format::GgufType::i64;
  for (uint64_t head = 0; head < heads; ++head) {
    sizes.integers.push_back(static_cast<int64_t>(rows / heads));
    offsets.integers.push_back(static_cast<int64_t>(head * (rows / heads)));
  }
  parts.set("ple.head_vocab_sizes", sizes);
  parts.set("ple.head_offsets", offsets);
  auto writer = take(format::GgufWriter::create(path, parts.metadata, parts.tensors));
  const std::vector<std::byte> piece(size_t{1} << 20);
  for (const format::GgufTensor& tensor : parts.tensors) {
    if (tensor.name != table.name) {
      need(writer.write(tensor.data));
      continue;
    }
    for (uint64_t done = 0; done < kTableBytes; done += piece.size()) need(writer.write(piece));
  }
  need(writer.finish());
}

TEST(TableMemory, IsNotNeededForTheTable) {
  const TemporaryFolder folder;
  write_large(folder / "a.gguf");
  const auto tokens = recorded_tokens("qwen4exp");
  reset_peak();
  const uint64_t before = peak();
  const auto engine = take(Engine::load(folder / "a.gguf", {}));
  Sequence sequence;
  for (int i = 0; i < 4; ++i) feed(*engine, sequence, tokens, 64);
  EXPECT_LT(peak() - before, kAllowed + engine->file_bytes() - kTableBytes);
}

TEST(TableMemory, AnUnreadableTableIsAnErrorThatLeavesTheSequenceAsItWas) {
  const TemporaryFolder folder;
  write_large(folder / "a.gguf");
  const auto tokens = recorded_tokens("qwen4exp");
  const auto engine = take(Engine::load(folder / "a.gguf", {}));
  Sequence sequence;
  feed(*engine, sequence, std::span(tokens).first(32), 32);
  std::filesystem::resize_file(folder / "a.gguf", 1 << 20);
  const Advance advances[] = {{&sequence, std::span(tokens).subspan(32, 8)}};
  EXPECT_NE(message_of(engine->step(advances)).find("a.gguf: the file ended"), std::string::npos);
  EXPECT_EQ(sequence.size(), 32u);
}

}  // namespace
}  // namespace terrace::engine
