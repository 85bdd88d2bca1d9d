// A draft head in a file of its own gives the same bits as one in the model's file.
#include <gtest/gtest.h>

#include "model/parts.h"

namespace terrace::engine {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

std::vector<float> drafts_of(Engine& engine, std::span<const int32_t> tokens, size_t chunk) {
  Sequence sequence;
  const Advance advances[] = {{&sequence, tokens, Advance::Logits::none}};
  take(engine.step(advances));
  std::vector<float> hidden, logits;
  append(hidden, engine.hidden());
  const size_t width = engine.info().draft_width;
  const std::vector<int32_t> next(tokens.begin() + 1, tokens.end());
  for (size_t first = 0; first < next.size(); first += chunk) {
    const size_t count = std::min(chunk, next.size() - first);
    append(logits, take(engine.draft({&sequence,
                                      first,
                                      std::span(next).subspan(first, count),
                                      {hidden.data() + first * width, count, width, width}})));
  }
  return logits;
}

/// Writes the tensors of the layer `prefix` to one file and the others to another, whose layers are one fewer.
void split(const std::string& model, const std::string& prefix, const std::string& trunk, const std::string& head) {
  const auto file = take(format::GgufFile::open(fixture(model + "/model-f32.gguf")));
  Parts without(file), only(file);
  std::erase_if(without.tensors, [&](const auto& tensor) { return tensor.name.starts_with(prefix); });
  std::erase_if(only.tensors, [&](const auto& tensor) { return !tensor.name.starts_with(prefix); });
  const auto layers = take(without.metadata.integer(without.architecture + ".block_count"));
  without.set("block_count", static_cast<uint32_t>(layers - 1));
  without.set("nextn_predict_layers", uint32_t{0});
  without.write(trunk);
  only.write(head);
}

TEST(DraftFile, GivesTheBitsOfAHeadInTheModelsFile) {
  const TemporaryFolder folder;
  for (const auto& [model, prefix] : {std::pair("qwen4exp-mtp", "blk.8."), {"qwen35moe", "blk.4."}}) {
    split(model, prefix, folder / "trunk.gguf", folder / "head.gguf");
    const auto tokens = recorded_tokens(model);
    const auto whole = load(model, {.draft_head = true});
    const auto expected = drafts_of(*whole, tokens, tokens.size());
    const auto parts =
        take(Engine::load(folder / "trunk.gguf", {.draft_head = true, .draft_path = folder / "head.gguf"}));
    EXPECT_TRUE(same_bits(drafts_of(*parts, tokens, tokens.size()), expected)) << model;
    for (const size_t chunk : {1, 7}) EXPECT_TRUE(same_bits(drafts_of(*whole, tokens, chunk), expected)) << model;
    EXPECT_EQ(whole->info().token_bytes.sum(), parts->info().token_bytes.sum());
    EXPECT_NE(message_of(Engine::load(folder / "trunk.gguf", {.draft_head = true})), "") << "the head is missing";
  }
}

/// Some public files hold both projections side by side, the embedding's columns first.
TEST(DraftFile, AcceptsProjectionsInOneTensor) {
  const TemporaryFolder folder;
  const auto file = take(format::GgufFile::open(fixture("qwen4exp-mtp/model-f32.gguf")));
  Parts parts(file);
  const format::GgufTensor embedding = parts.tensor("blk.8.nextn.e_proj.weight"),
                           hidden = parts.tensor("blk.8.nextn.h_proj.weight");
  std::vector<std::byte> both;
  const size_t row_bytes = embedding.shape[0] * sizeof(float);
  for (size_t row = 0; row < embedding.shape[1]; ++row) {
    for (const format::GgufTensor& part : {embedding, hidden}) {
      const auto bytes = part.data.subspan(row * row_bytes, row_bytes);
      both.insert(both.end(), bytes.begin(), bytes.end());
    }
  }
  std::erase_if(parts.tensors, [](const auto& tensor) {
    return tensor.name == "blk.8.nextn.e_proj.weight" || tensor.name == "blk.8.nextn.h_proj.weight";
  });
  parts.tensors.push_back({"blk.8.nextn.eh_proj.weight", 0, {2 * embedding.shape[0], embedding.shape[1]}, 0, both});
  parts.write(folder / "a.gguf");
  const auto tokens = recorded_tokens("qwen4exp-mtp");
  const auto apart = load("qwen4exp-mtp", {.draft_head = true});
  const auto together = take(Engine::load(folder / "a.gguf", {.draft_head = true}));
  EXPECT_TRUE(same_bits(drafts_of(*together, tokens, 50), drafts_of(*apart, tokens, 50)));
}

}  // namespace
}  // namespace terrace::engine
