// Judging a model: divergence from itself and from others, recorded references, and the report.
#include <gmock/gmock.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "format/safetensors.h"
#include "support/files.h"
#include "tools/perplexity.h"
#include "tools/quality_report.h"

namespace terrace::tools {
namespace {

using testing::fixture;
using ::testing::HasSubstr;
using testing::message_of;
using testing::need;
using testing::read_file;
using testing::take;
using testing::TemporaryFolder;
using testing::write_file;

const Progress kGoOn = [](uint64_t, uint64_t, std::string_view) { return true; };

std::unique_ptr<engine::Engine> load(const std::string& path) { return take(engine::Engine::load(path, {})); }

std::vector<Text> some_texts() {
  std::vector<Text> texts = {{"first", {}}, {"second", {}}};
  for (int32_t i = 0; i < 150; ++i) texts[0].tokens.push_back(11 * i % 250);
  for (int32_t i = 0; i < 33; ++i) texts[1].tokens.push_back(17 * i % 250);
  return texts;
}

std::vector<Summary> compared(engine::Engine& model, Reference& reference, size_t chunk = 40) {
  return summarize(take(compare(model, reference, chunk, kGoOn)));
}

class Quality : public ::testing::TestWithParam<const char*> {
 protected:
  std::string path = fixture(std::string(GetParam()) + "/model-f32.gguf");
  TemporaryFolder folder;
};

TEST_P(Quality, AgainstItselfInOtherPiecesIsExactlyNothing) {
  const auto model = load(path), other = load(path);
  const auto reference = model_reference(*other, some_texts(), 64);
  const auto summaries = compared(*model, *reference);
  ASSERT_EQ(summaries.size(), 3U);
  for (const Summary& summary : summaries) {
    EXPECT_EQ(summary.kl->largest, 0) << summary.kind;
    EXPECT_EQ(summary.kl_top.largest, 0) << summary.kind;
    EXPECT_EQ(summary.same_best, 1) << summary.kind;
    EXPECT_EQ(summary.perplexity, *summary.reference_perplexity);
  }
  EXPECT_EQ(summaries[2].positions, 183U);
  EXPECT_EQ(take(self_divergence(*model, some_texts()[1], 16, 5)), 0);
}

TEST_P(Quality, OneBitOfOneWeightIsSeen) {
  std::string bytes = read_file(path);
  const auto file = take(format::GgufFile::open(path));
  const auto at = file.location(*file.find("blk.0.attn_norm.weight")).offset;
  bytes[at + 2] = static_cast<char>(bytes[at + 2] ^ 0x40);  // a high bit of a fraction
  write_file(folder / "flipped.gguf", bytes);
  const auto model = load(path), flipped = load(folder / "flipped.gguf");
  const auto reference = model_reference(*model, some_texts(), 64);
  for (const Summary& summary : compared(*flipped, *reference)) {
    EXPECT_GT(summary.kl->mean, 0);
    EXPECT_GT(summary.kl_top.mean, 0);
  }
}

TEST_P(Quality, ARecordedReferenceGivesTheSameFigures) {
  const auto model = load(path);
  need(save_reference(folder / "r.safetensors", *model, some_texts(), kGoOn));
  const auto reference = take(file_reference(folder / "r.safetensors"));
  const auto summaries = compared(*model, *reference);
  ASSERT_EQ(summaries.size(), 3U);
  EXPECT_FALSE(summaries[0].kl.has_value());
  EXPECT_LT(std::abs(summaries[2].kl_top.largest), 1e-10);  // log-probabilities are recorded in single precision
  EXPECT_EQ(summaries[2].same_best, 1);
}

INSTANTIATE_TEST_SUITE_P(Models, Quality, ::testing::Values("llama", "qwen35moe"),
                         [](const auto& model) { return std::string(model.param); });

TEST(QualityFigures, AreThoseOfTheDefinition) {
  const float a = std::log(0.5F), b = std::log(0.25F);
  std::vector<Position> positions(4);
  const double losses[] = {1, 3, 2};
  for (size_t i = 0; i < 4; ++i) {
    positions[i].kl = static_cast<double>(i);
    positions[i].kl_top = static_cast<double>(i);
    positions[i].same_best = i > 0;
    if (i < 3) positions[i].loss = positions[i].reference_loss = losses[i];
  }
  const Summary summary = summarize("x", positions);
  EXPECT_DOUBLE_EQ(summary.kl->mean, 1.5);
  EXPECT_DOUBLE_EQ(summary.kl->error, std::sqrt(5.0 / 3 / 4));
  EXPECT_DOUBLE_EQ(summary.kl->largest, 3);
  EXPECT_DOUBLE_EQ(summary.same_best, 0.75);
  EXPECT_DOUBLE_EQ(summary.perplexity, std::exp(2.0));
  EXPECT_NEAR(log_sum_exp(std::vector{a, b, b}), 0, 1e-7);
  EXPECT_EQ(largest(std::vector{a, b, b}, 2), (std::vector<int32_t>{0, 1}));
}

TEST(QualityReports, ArePagesAndJson) {
  QualityReport report{"a<b>.gguf", "ref.gguf", 1'500'000,
                       "standard",  0.0,        {{"code & prose", std::vector<Position>(300)}}};
  for (size_t i = 0; i < 300; ++i) {
    report.comparisons[0].positions[i].kl = i % 7 == 0 ? 0 : 1e-4 * static_cast<double>(i);
    report.comparisons[0].positions[i].loss = 1;
  }
  const std::string page = quality_page(report);
  EXPECT_THAT(page, HasSubstr("a&lt;b&gt;.gguf"));
  EXPECT_THAT(page, HasSubstr("code &amp; prose"));
  EXPECT_THAT(page, ::testing::Not(HasSubstr("nan")));
  const auto json = nlohmann::json::parse(quality_json(report));
  EXPECT_EQ(json["texts"][0]["positions"], 300);
  EXPECT_TRUE(json["texts"][0]["reference_perplexity"].is_null());
  EXPECT_EQ(json["noise"], 0.0);
}

/// KL(p || q) of two rows of logits over the tokens of `which`, in long double and as the formula is written.
double divergence_by_definition(std::span<const float> p, std::span<const float> q, const std::vector<size_t>& which) {
  long double p_sum = 0, q_sum = 0, sum = 0;
  for (const size_t i : which) {
    p_sum += std::exp(static_cast<long double>(p[i]));
    q_sum += std::exp(static_cast<long double>(q[i]));
  }
  for (const size_t i : which) {
    const long double a = std::exp(static_cast<long double>(p[i])) / p_sum;
    sum += a * std::log(a / (std::exp(static_cast<long double>(q[i])) / q_sum));
  }
  return static_cast<double>(sum);
}

TEST(QualityFigures, OfAPositionAreThoseOfTheDefinition) {
  const auto model = load(fixture("llama/model-f32.gguf"));
  const size_t vocabulary = model->info().vocabulary;
  const std::vector<int32_t> tokens = {5, 9, 2};
  engine::Sequence sequence;
  const engine::Advance advance[] = {{&sequence, tokens, engine::Advance::Logits::all}};
  const auto rows = take(model->step(advance));
  std::vector<std::vector<float>> own, other;
  for (size_t r = 0; r < 3; ++r) {
    own.emplace_back(rows.row(r), rows.row(r) + vocabulary);
    other.push_back(own.back());
    for (size_t i = 0; i < vocabulary; ++i) other[r][i] += static_cast<float>((i * 37 + r) % 11) * 0.1F - 0.5F;
  }
  TemporaryFolder folder;
  auto writer = take(format::SafetensorsWriter::create(
      folder / "r", {{"logits", {"F32", {3, vocabulary}, {}}}, {"tokens", {"I32", {3}, {}}}}));
  for (const auto& row : other) need(writer.write(std::as_bytes(std::span(row))));
  need(writer.write(std::as_bytes(std::span(tokens))));
  need(writer.finish());
  const auto reference = take(file_reference(folder / "r"));
  const auto positions = take(compare(*model, *reference, 2, kGoOn))[0].positions;
  std::vector<size_t> all(vocabulary);
  for (size_t i = 0; i < vocabulary; ++i) all[i] = i;
  for (size_t r = 0; r < 3; ++r) {
    EXPECT_NEAR(*positions[r].kl, divergence_by_definition(other[r], own[r], all), 1e-9);
    std::vector<size_t> top;
    for (const int32_t token : largest(other[r], kTopTokens)) top.push_back(static_cast<size_t>(token));
    EXPECT_NEAR(positions[r].kl_top, divergence_by_definition(other[r], own[r], top), 1e-9);
    EXPECT_EQ(positions[r].same_best, largest(own[r], 1) == largest(other[r], 1));
  }
  EXPECT_NEAR(*positions[0].loss, log_sum_exp(own[0]) - own[0][9], 1e-9);
  EXPECT_NEAR(*positions[1].reference_loss, log_sum_exp(other[1]) - other[1][2], 1e-9);
  EXPECT_FALSE(positions[2].loss.has_value());
}

class ReferenceFile : public ::testing::Test {
 protected:
  using Arrays = std::vector<std::pair<std::string, format::SafetensorsArray>>;
  std::string refusal(Arrays arrays, const std::vector<std::string>& data) {
    auto writer = take(format::SafetensorsWriter::create(folder / "r", arrays));
    for (const std::string& bytes : data) need(writer.write(testing::bytes_of(bytes)));
    need(writer.finish());
    return message_of(file_reference(folder / "r"));
  }
  static std::string zeros(size_t words) { return std::string(4 * words, '\0'); }
  TemporaryFolder folder;
};

TEST_F(ReferenceFile, RefusalsNameTheArray) {
  EXPECT_THAT(refusal({{"logits", {"F32", {2, 3}, {}}}}, {zeros(6)}), HasSubstr("'tokens' is missing"));
  EXPECT_THAT(refusal({{"logits", {"F32", {2, 3}, {}}}, {"tokens", {"I32", {3}, {}}}}, {zeros(6), zeros(3)}),
              HasSubstr("2 rows of logits for 3 tokens"));
  EXPECT_THAT(refusal({{"logits", {"F16", {2, 2}, {}}}, {"tokens", {"I32", {2}, {}}}}, {zeros(2), zeros(2)}),
              HasSubstr("'logits' is no 2-dimensional F32"));
  EXPECT_THAT(refusal({{"logits", {"F32", {2, 1}, {}}}, {"tokens", {"I32", {2}, {}}}},
                      {zeros(2), zeros(1) + "\x05" + std::string(3, '\0')}),
              HasSubstr("the token 5 is outside of the vocabulary of 1"));
  EXPECT_THAT(refusal({{"x", {"F32", {1}, {}}}}, {zeros(1)}), HasSubstr("'vocabulary' is missing"));
  EXPECT_THAT(refusal({{"vocabulary", {"I32", {1}, {}}}}, {"\x05" + std::string(3, '\0')}),
              HasSubstr("no predictions"));
  write_file(folder / "r", "no safetensors");
  EXPECT_FALSE(file_reference(folder / "r"));
}

TEST_F(ReferenceFile, OfAnotherVocabularyIsRefused) {
  EXPECT_EQ(refusal({{"logits", {"F32", {2, 3}, {}}}, {"tokens", {"I32", {2}, {}}}}, {zeros(6), zeros(2)}), "");
  const auto model = load(fixture("llama/model-f32.gguf"));
  const auto reference = take(file_reference(folder / "r"));
  EXPECT_THAT(message_of(compare(*model, *reference, 8, kGoOn)), HasSubstr("a vocabulary of 3 tokens"));
}

TEST(Texts, LongerThanTheContextAreRefusedBeforeTheyAreRead) {
  const auto model = take(engine::Engine::load(fixture("llama/model-f32.gguf"), {.context = 32}));
  TemporaryFolder folder;
  const std::vector<Text> texts = {{"short", std::vector<int32_t>(32, 1)}, {"long", std::vector<int32_t>(33, 1)}};
  const Progress never = [](size_t, size_t, std::string_view) {
    ADD_FAILURE();
    return true;
  };
  const char* const message = "the text 'long' has 33 tokens and the context holds 32; take fewer with --tokens 32";
  EXPECT_THAT(message_of(save_reference(folder / "r", *model, texts, never)), HasSubstr(message));
  const auto reference = model_reference(*model, texts, 8);
  EXPECT_THAT(message_of(compare(*model, *reference, 8, never)), HasSubstr(message));
}

TEST(Texts, ControlTokensWrittenInThemAreRead) {
  const auto model = load(fixture("qwen35moe/model-f32.gguf"));
  TemporaryFolder folder;
  write_file(folder / "chat.txt", "<|im_start|>user\nHello<|im_end|>");
  const std::vector<std::string> files = {folder / "chat.txt"};
  const auto texts = take(read_texts(*model, files, 0));
  EXPECT_EQ(texts[0].kind, "chat");
  EXPECT_EQ(texts[0].tokens, model->tokenizer()->encode("<|im_start|>user\nHello<|im_end|>", {.parse_special = true}));
  EXPECT_NE(texts[0].tokens, model->tokenizer()->encode("<|im_start|>user\nHello<|im_end|>", {}));
}

TEST(PerplexityTest, ScoresTheSecondHalfOfEveryWindow) {
  const auto model = load(fixture("llama/model-f32.gguf"));
  const Text text = some_texts()[0];
  const auto found = take(measure_perplexity(*model, text, 64, kGoOn));
  EXPECT_EQ(found.windows, 2U);
  EXPECT_EQ(found.scored, 2 * (64U - 1 - 32));
  // The same from logits, one window at a time.
  double sum = 0;
  const auto start = model->tokenizer()->encode("", {.add_special = true});
  for (size_t window = 0; window < 2; ++window) {
    std::vector<int32_t> tokens(text.tokens.begin() + static_cast<std::ptrdiff_t>(64 * window),
                                text.tokens.begin() + static_cast<std::ptrdiff_t>(64 * window + 64));
    const auto next = tokens;
    if (!start.empty()) tokens[0] = start[0];
    engine::Sequence sequence;
    const engine::Advance advance[] = {{&sequence, tokens, engine::Advance::Logits::all}};
    const auto rows = take(model->step(advance));
    for (size_t i = 32; i < 63; ++i) sum += log_sum_exp({rows.row(i), rows.width}) - rows.row(i)[next[i + 1]];
  }
  EXPECT_DOUBLE_EQ(found.value, std::exp(sum / 62));
  EXPECT_THAT(message_of(measure_perplexity(*model, text, 200, kGoOn)), HasSubstr("fewer than one window of 200"));
}

}  // namespace
}  // namespace terrace::tools
