#include "model/rope_scaling.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace terrace::model {
namespace {

/// YaRN: pairs that turn often in the original context keep their frequency, those that turn rarely are divided by
/// `factor`, with a ramp between. Source: "YaRN: Efficient Context Window Extension of Large Language Models" (2023),
/// section 3, and transformers' _compute_yarn_parameters.
struct Yarn {
  double base, factor, original_context, fast, slow;
  size_t dimensions;
  bool round;

  /// The pair that makes `turns` full turns over the original context.
  double pair_of(double turns) const {
    const double d = static_cast<double>(dimensions);
    return d * std::log(original_context / (turns * 2 * std::numbers::pi)) / (2 * std::log(base));
  }
  void apply(std::vector<float>& frequencies) const {
    double low = pair_of(fast), high = pair_of(slow);
    if (round) {
      low = std::floor(low);
      high = std::ceil(high);
    }
    low = std::max(low, 0.0);
    high = std::min(high, static_cast<double>(dimensions) - 1);
    if (low == high) high += 0.001;  // no division by zero
    for (size_t i = 0; i < frequencies.size(); ++i) {
      const double ramp = std::clamp((static_cast<double>(i) - low) / (high - low), 0.0, 1.0);
      const double frequency = frequencies[i];
      frequencies[i] = static_cast<float>(frequency / factor * ramp + frequency * (1 - ramp));
    }
  }
};

/// Divides by the divisors of llama3's or longrope's tensor, when the file has one.
Status apply_divisors(Loader& loader, std::vector<float>& frequencies, double original_context) {
  std::string name = "rope_freqs.weight";
  if (loader.has("rope_factors_long.weight")) {
    TERRACE_TRY(const size_t trained, loader.count_or("context_length", 0, size_t{1} << 32));
    const size_t context = loader.options().context > 0 ? loader.options().context : trained;
    name = static_cast<double>(context) > original_context ? "rope_factors_long.weight" : "rope_factors_short.weight";
  }
  TERRACE_TRY(const auto divisors, loader.vector_or_none(name, frequencies.size()));
  for (size_t i = 0; i < divisors.size(); ++i) frequencies[i] /= divisors[i];
  return Done{};
}

}  // namespace

Result<RopeFrequencies> load_plain_rope(Loader& loader, std::string_view base_key, size_t dimensions) {
  RopeFrequencies rope;
  loader.note_rope(dimensions);
  TERRACE_TRY(const float base, loader.number_or(base_key, 10000));
  if (!(base > 1)) return fail("'{}.{}' is {}, it must be above 1", loader.architecture(), base_key, base);
  for (size_t i = 0; i < dimensions / 2; ++i) {
    rope.frequencies.push_back(
        static_cast<float>(std::pow(double{base}, -2.0 * static_cast<double>(i) / static_cast<double>(dimensions))));
  }
  return rope;
}

Result<RopeFrequencies> load_rope(Loader& loader, size_t dimensions, bool round_yarn) {
  TERRACE_TRY(RopeFrequencies rope, load_plain_rope(loader, "rope.freq_base", dimensions));
  TERRACE_TRY(const float base, loader.number_or("rope.freq_base", 10000));
  TERRACE_TRY(const std::string kind, loader.string_or("rope.scaling.type", "none"));
  TERRACE_TRY(const float old_factor, loader.number_or("rope.scale_linear", 1));
  TERRACE_TRY(const float factor, loader.number_or("rope.scaling.factor", old_factor));
  TERRACE_TRY(const size_t trained, loader.count_or("context_length", 0, size_t{1} << 32));
  TERRACE_TRY(const size_t original, loader.count_or("rope.scaling.original_context_length", trained, size_t{1} << 32));
  TERRACE_TRY(const float attention_factor, loader.number_or("rope.scaling.attn_factor", 1));
  if (!(factor > 0)) return fail("'{}.rope.scaling.factor' is {}, it must be positive", loader.architecture(), factor);
  if (kind == "linear" || (kind == "none" && old_factor != 1)) {
    for (float& frequency : rope.frequencies) frequency /= factor;
  } else if (kind == "yarn") {
    TERRACE_TRY(const float fast, loader.number_or("rope.scaling.yarn_beta_fast", 32));
    TERRACE_TRY(const float slow, loader.number_or("rope.scaling.yarn_beta_slow", 1));
    Yarn{base, factor, static_cast<double>(original), fast, slow, dimensions, round_yarn}.apply(rope.frequencies);
    rope.magnitude = static_cast<float>(attention_factor * (factor > 1 ? 0.1 * std::log(double{factor}) + 1 : 1.0));
  } else if (kind == "longrope") {
    rope.magnitude = attention_factor;
  } else if (kind != "none") {
    return fail("the rope scaling '{}' is unknown (none, linear, yarn and longrope are known)", kind);
  }
  TERRACE_CHECK(apply_divisors(loader, rope.frequencies, static_cast<double>(original)));
  for (const float frequency : rope.frequencies) {
    // Models have at most 1; the bound keeps the angles of all positions within what cos_sin() can reduce.
    if (!(std::abs(frequency) <= 1000))
      return fail("the rope settings of '{}' give the frequency {}", loader.architecture(), frequency);
  }
  return rope;
}

}  // namespace terrace::model
