// The small trained model among the assets: its recorded logits and drafts.
#include <gtest/gtest.h>

#include <cstdlib>

#include "model/agreement.h"
#include "model/runs.h"

namespace terrace::engine {
namespace {

using namespace terrace::testing;  // NOLINT(google-build-using-namespace)

TEST(Tinyflash, LogitsAndDraftsAreTheRecordedOnes) {
  const char* assets = std::getenv("TERRACE_ASSETS");
  if (!assets) GTEST_SKIP() << "needs the assets (scripts/test --assets)";
  const std::string folder = std::string(assets) + "/tinyflash/";
  const Arrays golden(folder + "golden.safetensors");
  const auto tokens = golden.values<int32_t>("tokens"), next = golden.values<int32_t>("mtp_tokens");
  const auto engine =
      take(Engine::load(folder + "model-bf16.gguf", {.numeric = Numeric::reference, .draft_head = true}));
  const size_t vocabulary = engine->info().vocabulary, width = engine->info().draft_width;
  const auto expect_close = [&](const std::string& name, std::span<const float> actual) {
    const Agreement result = agreement(golden.values<float>(name), actual, vocabulary);
    EXPECT_LE(result.error, 2e-3) << name;
    EXPECT_LE(result.kl, 1e-7) << name;
  };
  Sequence sequence;
  const Advance advances[] = {{&sequence, tokens, Advance::Logits::all}};
  std::vector<float> logits, hidden, drafts, second;
  append(logits, take(engine->step(advances)));
  append(hidden, engine->hidden());
  expect_close("logits", logits);

  // Drafts one by one; the last ones are followed by a second draft from the first's own output.
  const auto second_tokens = golden.values<int32_t>("mtp2_tokens");
  for (size_t i = 0; i < next.size(); ++i) {
    append(drafts, take(engine->draft(
                       {&sequence, i, std::span(next).subspan(i, 1), {hidden.data() + i * width, 1, width, width}})));
    if (i + second_tokens.size() < next.size()) continue;
    std::vector<float> own(engine->hidden().row(0), engine->hidden().row(0) + width);
    const Checkpoint before = sequence.checkpoint();
    append(second, take(engine->draft({&sequence,
                                       i + 1,
                                       std::span(second_tokens).subspan(i + second_tokens.size() - next.size(), 1),
                                       {own.data(), 1, width, width}})));
    sequence.restore(before);
  }
  expect_close("mtp_logits", drafts);
  expect_close("mtp2_logits", second);
}

}  // namespace
}  // namespace terrace::engine
