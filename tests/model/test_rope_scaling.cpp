// Rope frequencies of each scaling kind against formulas of their own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numbers>

#include "compute/cpu/cpu_backend.h"
#include "format/gguf_writer.h"
#include "model/rope_scaling.h"
#include "support/files.h"

namespace terrace::model {
namespace {

using ::testing::HasSubstr;
using testing::message_of;
using testing::need;
using testing::take;

/// A file of metadata under "x." and of vectors, and what load_rope() makes of it.
class Settings {
 public:
  Settings& set(const std::string& key, auto value) {
    metadata_.set("x." + key, value);
    return *this;
  }
  Settings& vector(const std::string& name, std::vector<float> values) {
    vectors_.emplace_back(name, std::move(values));
    return *this;
  }
  Result<RopeFrequencies> load(size_t dimensions, size_t context = 0, bool round_yarn = true) const {
    const testing::TemporaryFolder folder;
    std::vector<format::GgufTensor> tensors;
    for (const auto& [name, values] : vectors_) tensors.push_back({name, 0, {values.size()}, 0, {}});
    auto writer = take(format::GgufWriter::create(folder / "a", metadata_, tensors));
    for (const auto& [name, values] : vectors_) need(writer.write(std::as_bytes(std::span(values))));
    need(writer.finish());
    const auto file = take(format::GgufFile::open(folder / "a"));
    const auto backend = take(compute::CpuBackend::create({.threads = 1}));
    LoadOptions options;
    options.context = context;
    Loader loader(file, *backend, options, "x");
    return load_rope(loader, dimensions, round_yarn);
  }

 private:
  format::GgufMetadata metadata_;
  std::vector<std::pair<std::string, std::vector<float>>> vectors_;
};

void expect_near(const std::vector<float>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], expected[i] * 1e-6) << "pair " << i;
}

std::vector<double> plain(double base, size_t dimensions) {
  std::vector<double> frequencies;
  for (size_t i = 0; i < dimensions / 2; ++i)
    frequencies.push_back(1 / std::pow(base, static_cast<double>(2 * i) / static_cast<double>(dimensions)));
  return frequencies;
}

TEST(RopeScaling, NoneIsThePlainFormula) {
  const auto rope = take(Settings().load(64));
  expect_near(rope.frequencies, plain(10000, 64));
  EXPECT_EQ(rope.magnitude, 1);
  expect_near(take(Settings().set("rope.freq_base", 500000.0F).set("rope.scaling.type", "none").load(80)).frequencies,
              plain(500000, 80));
}

TEST(RopeScaling, LinearDividesAll) {
  auto expected = plain(10000, 32);
  for (double& frequency : expected) frequency /= 4;
  expect_near(take(Settings().set("rope.scaling.type", "linear").set("rope.scaling.factor", 4.0F).load(32)).frequencies,
              expected);
  expect_near(take(Settings().set("rope.scale_linear", 4.0F).load(32)).frequencies, expected);
}

Settings yarn(float base, float factor, uint32_t original) {
  return Settings()
      .set("rope.scaling.type", "yarn")
      .set("rope.freq_base", base)
      .set("rope.scaling.factor", factor)
      .set("rope.scaling.original_context_length", original);
}

TEST(RopeScaling, YarnWithRoundedRange) {
  // Computed apart from this program: base 10000, factor 4, 4096 positions, ramp from pair 2 to pair 6.
  const auto rope = take(yarn(10000, 4, 4096).load(16));
  expect_near(rope.frequencies, {1.0, 0.31622776601683794, 0.1, 0.02569350598886808, 0.00625, 0.001383496476323666,
                                 0.00025, 7.905694150420948e-05});
  EXPECT_NEAR(rope.magnitude, 0.1 * std::log(4.0) + 1, 1e-6);
  // Base 500000, factor 40, turns 16 and 2: ramp from pair 4 to pair 8.
  const auto other = take(yarn(500000, 40, 4096)
                              .set("rope.scaling.yarn_beta_fast", 16.0F)
                              .set("rope.scaling.yarn_beta_slow", 2.0F)
                              .load(32));
  expect_near(other.frequencies,
              {1.0, 0.44036660267178046, 0.19392274474868576, 0.08539710028576561, 0.03760603093086393,
               0.01252383281125205, 0.0037374906778237685, 0.0008630761110897588, 3.535533905932738e-05,
               1.55693105478649e-05, 6.856204391905183e-06, 3.019243435286626e-06, 1.329573974236247e-06,
               5.854999740352336e-07, 2.578346344303115e-07, 1.1354176201519673e-07});
}

TEST(RopeScaling, YarnRampIsLinearInTheLogarithmOfTurns) {
  auto expected = plain(10000, 64);
  for (double& frequency : expected) {
    const double turns = 2048 * frequency / (2 * std::numbers::pi);
    const double ramp = std::clamp((std::log(32.0) - std::log(turns)) / std::log(32.0), 0.0, 1.0);
    frequency = frequency / 8 * ramp + frequency * (1 - ramp);
  }
  const auto rope = take(yarn(10000, 8, 2048).set("rope.scaling.attn_factor", 0.5F).load(64, 0, /*round_yarn=*/false));
  expect_near(rope.frequencies, expected);
  EXPECT_NEAR(rope.magnitude, 0.5 * (0.1 * std::log(8.0) + 1), 1e-6);
}

TEST(RopeScaling, YarnTakesTheTrainedContextWhenNoOriginalIsGiven) {
  const auto with = take(yarn(10000, 4, 4096).load(32));
  const auto without = take(Settings()
                                .set("rope.scaling.type", "yarn")
                                .set("rope.scaling.factor", 4.0F)
                                .set("context_length", uint32_t{4096})
                                .load(32));
  EXPECT_EQ(with.frequencies, without.frequencies);
}

/// llama3's rule: long waves are divided, short ones stay, those between are blended by their wavelength.
double llama3_divisor(double frequency, double factor, double low, double high, double original) {
  const double wavelength = 2 * std::numbers::pi / frequency;
  if (wavelength < original / high) return 1;
  if (wavelength > original / low) return factor;
  const double smooth = (original / wavelength - low) / (high - low);
  return 1 / ((1 - smooth) / factor + smooth);
}

TEST(RopeScaling, Llama3DividesByItsTensor) {
  std::vector<float> divisors;
  auto expected = plain(500000, 128);
  for (double& frequency : expected) {
    const double divisor = llama3_divisor(frequency, 8, 1, 4, 8192);
    divisors.push_back(static_cast<float>(divisor));
    frequency /= divisor;
  }
  expect_near(
      take(Settings().set("rope.freq_base", 500000.0F).vector("rope_freqs.weight", divisors).load(128)).frequencies,
      expected);
}

TEST(RopeScaling, LongropeChoosesItsFactorsByTheContext) {
  std::vector<float> near, far;
  auto short_expected = plain(10000, 16), long_expected = short_expected;
  for (size_t i = 0; i < 8; ++i) {
    near.push_back(1 + 0.125F * static_cast<float>(i));
    far.push_back(2 + 3 * static_cast<float>(i));
    short_expected[i] /= near[i];
    long_expected[i] /= far[i];
  }
  Settings settings = Settings()
                          .set("rope.scaling.type", "longrope")
                          .set("rope.scaling.attn_factor", 1.19F)
                          .set("rope.scaling.original_context_length", uint32_t{4096})
                          .set("context_length", uint32_t{131072})
                          .vector("rope_factors_long.weight", far)
                          .vector("rope_factors_short.weight", near);
  expect_near(take(settings.load(16)).frequencies, long_expected);
  expect_near(take(settings.load(16, 4097)).frequencies, long_expected);
  expect_near(take(settings.load(16, 4096)).frequencies, short_expected);
  expect_near(take(settings.load(16, 100)).frequencies, short_expected);
  EXPECT_EQ(take(settings.load(16)).magnitude, 1.19F);
}

TEST(RopeScaling, ImpossibleSettingsAreNamed) {
  const auto error = [](const Settings& settings) { return message_of(settings.load(16)); };
  EXPECT_THAT(error(Settings().set("rope.scaling.type", "spiral")), HasSubstr("'spiral'"));
  EXPECT_THAT(error(Settings().set("rope.freq_base", 0.0F)), HasSubstr("'x.rope.freq_base' is 0"));
  EXPECT_THAT(error(Settings().set("rope.freq_base", -3.0F)), HasSubstr("'x.rope.freq_base' is -3"));
  EXPECT_THAT(error(Settings().set("rope.freq_base", std::nanf(""))), HasSubstr("'x.rope.freq_base' is nan"));
  EXPECT_THAT(error(Settings().set("rope.freq_base", "big")), HasSubstr("'x.rope.freq_base' is of type str"));
  EXPECT_THAT(error(Settings().set("rope.scaling.factor", 0.0F)), HasSubstr("'x.rope.scaling.factor' is 0"));
  EXPECT_THAT(error(Settings().set("rope.scaling.factor", -1.0F)), HasSubstr("'x.rope.scaling.factor' is -1"));
  EXPECT_THAT(error(Settings().vector("rope_freqs.weight", {1, 2, 3})), HasSubstr("'rope_freqs.weight' has 3 values"));
  EXPECT_THAT(error(Settings().vector("rope_freqs.weight", std::vector<float>(8, 0.0F))),
              HasSubstr("'x' give the frequency inf"));
  EXPECT_THAT(error(Settings().vector("rope_freqs.weight", std::vector<float>(8, 1e-9F))),
              HasSubstr("'x' give the frequency"));
  EXPECT_THAT(error(Settings().vector("rope_freqs.weight", std::vector<float>(8, std::nanf("")))),
              HasSubstr("frequency nan"));
  EXPECT_THAT(error(yarn(10000, 4, 4096).set("rope.scaling.yarn_beta_fast", -1.0F)), HasSubstr("rope"));
}

}  // namespace
}  // namespace terrace::model
