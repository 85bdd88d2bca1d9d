// What models decide inside: router choices, selected blocks, and the drafts of multi-token-prediction heads, as
// recorded from the reference implementation.
#include <gtest/gtest.h>

#include "model/agreement.h"
#include "model/internals_recorder.h"
#include "model/runs.h"

namespace terrace::engine {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

using model::InternalsRecorder;

/// Rows whose experts differ from the recorded ones; the weights of the same choices must be close.
size_t route_flips(std::span<const int32_t> actual, std::span<const float> actual_weights,
                   std::span<const int32_t> expected, std::span<const float> expected_weights, size_t rows) {
  const size_t used = expected.size() / rows;
  size_t flips = 0;
  for (size_t r = 0; r < rows; ++r) {
    bool same = true;
    for (size_t i = r * used; i < (r + 1) * used; ++i) {
      const auto row = actual.subspan(r * used, used);
      const auto found = std::find(row.begin(), row.end(), expected[i]);
      same &= found != row.end();
      if (found != row.end()) {
        const auto at = r * used + static_cast<size_t>(found - row.begin());
        EXPECT_NEAR(actual_weights[at], expected_weights[i], 2e-3) << "row " << r;
      }
    }
    flips += same ? 0 : 1;
  }
  return flips;
}

/// Compares the layers of a recorder with arrays whose first dimension is the layer: all layers, or those with routers.
void expect_routes(const InternalsRecorder& recorder, const Arrays& golden, const std::string& experts,
                   const std::string& weights, size_t rows) {
  const auto all = golden.values<int32_t>(experts);
  const auto all_weights = golden.values<float>(weights);
  const size_t size = recorder.experts().begin()->second.size();
  const bool every_layer = all.size() > recorder.experts().size() * size;
  size_t index = 0;
  for (const auto& [layer, actual] : recorder.experts()) {
    const size_t at = (every_layer ? layer : index++) * size;
    ASSERT_LE(at + size, all.size());
    EXPECT_EQ(route_flips(actual, recorder.weights().at(layer), std::span(all).subspan(at, size),
                          std::span(all_weights).subspan(at, size), rows),
              0u)
        << "routes of layer " << layer << ", of " << rows << " rows";
  }
}

void expect_selections(const InternalsRecorder& recorder, const Arrays& golden, const std::string& name) {
  const auto all = golden.values<uint8_t>(name);
  size_t index = 0;
  for (const auto& [layer, actual] : recorder.selected()) {
    size_t flips = 0;
    for (size_t r = 0; r < actual.size(); ++r) {
      const auto expected = std::span(all).subspan((index * actual.size() + r) * actual.size(), r + 1);
      flips += std::equal(expected.begin(), expected.end(), actual[r].begin(), actual[r].end()) ? 0 : 1;
    }
    EXPECT_EQ(flips, 0u) << "selections of layer " << layer << ", of " << actual.size() << " rows";
    ++index;
  }
}

TEST(GoldenInternals, RouterChoicesAndSelectionsAreTheRecordedOnes) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    const Arrays golden(fixture(model + "/golden.safetensors"));
    if (!golden.contains("experts")) continue;
    const auto tokens = golden.values<int32_t>("tokens");
    for (const size_t chunk : {tokens.size(), size_t{7}}) {
      InternalsRecorder recorder;
      const auto engine = load(model, {.numeric = Numeric::reference});
      Sequence sequence;
      feed(*engine, sequence, tokens, chunk, &recorder);
      expect_routes(recorder, golden, "experts", "expert_weights", tokens.size());
      if (golden.contains("qsa_selected")) expect_selections(recorder, golden, "qsa_selected");
    }
  }
}

/// The last 16 of the recorded second drafts: the draft head reads its own output at the next position.
void expect_second_drafts(Engine& engine, Sequence& sequence, const Arrays& golden, std::span<const int32_t> tokens,
                          const compute::Rows& hidden) {
  const auto second_tokens = golden.values<int32_t>("mtp2_tokens");
  const auto expected = golden.values<float>("mtp2_logits");
  const size_t count = second_tokens.size(), first = tokens.size() - count;
  std::vector<float> logits;
  for (size_t i = 0; i < tokens.size(); ++i) {
    const compute::Rows row{hidden.row(i), 1, hidden.width, hidden.stride};
    take(engine.draft({&sequence, i, tokens.subspan(i, 1), row}));
    if (i < first) continue;
    std::vector<float> own(engine.hidden().row(0), engine.hidden().row(0) + hidden.width);
    const Checkpoint before = sequence.checkpoint();
    append(logits, take(engine.draft({&sequence,
                                      i + 1,
                                      std::span(second_tokens).subspan(i - first, 1),
                                      {own.data(), 1, hidden.width, hidden.width}})));
    sequence.restore(before);
  }
  const Agreement second = agreement(expected, logits, engine.info().vocabulary);
  EXPECT_LE(second.error, 2e-3);
  EXPECT_LE(second.kl, 1e-7);
}

TEST(GoldenInternals, DraftsAreTheRecordedOnes) {
  for (const std::string& model : kModels) {
    SCOPED_TRACE(model);
    const Arrays golden(fixture(model + "/golden.safetensors"));
    if (!golden.contains("mtp_logits")) continue;
    const auto tokens = golden.values<int32_t>("tokens"), next = golden.values<int32_t>("mtp_tokens");
    const auto expected = golden.values<float>("mtp_logits");
    for (const size_t chunk : {tokens.size(), size_t{7}}) {
      const auto engine = load(model, {.numeric = Numeric::reference, .draft_head = true});
      Sequence sequence;
      const Advance advances[] = {{&sequence, tokens, Advance::Logits::none}};
      take(engine->step(advances));
      std::vector<float> stack;
      append(stack, engine->hidden());
      const size_t width = engine->info().draft_width;
      const compute::Rows hidden{stack.data(), tokens.size(), width, width};
      InternalsRecorder recorder;
      std::vector<float> logits;
      for (size_t first = 0; first < tokens.size(); first += chunk) {
        const size_t count = std::min(chunk, tokens.size() - first);
        append(logits,
               take(engine->draft(
                   {&sequence, first, std::span(next).subspan(first, count), {hidden.row(first), count, width, width}},
                   &recorder)));
      }
      const Agreement drafts = agreement(expected, logits, engine->info().vocabulary);
      EXPECT_LE(drafts.error, 2e-3);
      EXPECT_LE(drafts.kl, 1e-7);
      if (golden.contains("mtp_experts"))
        expect_routes(recorder, golden, "mtp_experts", "mtp_expert_weights", tokens.size());
      if (golden.contains("mtp_qsa_selected")) expect_selections(recorder, golden, "mtp_qsa_selected");
      if (golden.contains("mtp2_logits")) expect_second_drafts(*engine, sequence, golden, next, hidden);
    }
  }
}

TEST(DraftHead, IsAnErrorWhereThereIsNone) {
  EXPECT_NE(message_of(Engine::load(fixture("llama/model-f32.gguf"), {.draft_head = true})).find("no multi-token"),
            std::string::npos);
  const auto engine = load("qwen35", {});
  Sequence sequence;
  const int32_t token[] = {1};
  float hidden[64] = {};
  EXPECT_NE(message_of(engine->draft({&sequence, 0, token, {hidden, 1, 64, 64}})).find("reads hidden rows of 0"),
            std::string::npos);
}

}  // namespace
}  // namespace terrace::engine
