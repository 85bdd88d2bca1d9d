// llama and granite: dense models whose rope turns neighbouring values.
#include <cmath>
#include <numbers>

#include "tools/convert/blocks.h"
#include "tools/convert/families/granite_factors.h"
#include "tools/convert/family.h"

namespace terrace::tools {
namespace {

/// Llama 3's scaled rope, as divisors of the frequencies: GGUF has no keys for it. In float, as the reference computes.
std::vector<float> rope_divisors(const Config& rope, uint64_t head_size) {
  const auto base = static_cast<float>(rope.number_or("rope_theta", 10000));
  const auto factor = static_cast<float>(rope.number_or("factor", 8));
  const auto low = static_cast<float>(rope.number_or("low_freq_factor", 1));
  const auto high = static_cast<float>(rope.number_or("high_freq_factor", 4));
  const auto context = static_cast<float>(rope.number_or("original_max_position_embeddings", 8192));
  std::vector<float> divisors;
  for (uint64_t i = 0; i < head_size; i += 2) {
    const float exponent = static_cast<float>(i) / static_cast<float>(head_size);
    const float frequency = 1.0F / static_cast<float>(std::pow(static_cast<double>(base), exponent));
    // The reference divides a number by a tensor as a product with the reciprocal, rounded twice.
    const float wave = 1.0F / frequency * static_cast<float>(2 * std::numbers::pi);
    const float smooth = (1.0F / wave * context - low) / (high - low);
    divisors.push_back(wave < context / high  ? 1.0F
                       : wave > context / low ? factor
                                              : 1.0F / ((1.0F - smooth) / factor + smooth));
  }
  return divisors;
}

void dense_layers(Job& job, const std::string& root, const Sizes& sizes) {
  embedding_and_head(job, root, sizes);
  final_norm(job, root, sizes);
  AttentionForm form;
  form.rotary_pairs = true;
  for (uint64_t i = 0; i < sizes.layers; ++i) {
    const Scope layer = layer_scope(job, root, i);
    layer.copy("input_layernorm.weight", "attn_norm.weight", {sizes.hidden});
    attention(layer, sizes, form);
    layer.copy("post_attention_layernorm.weight", "ffn_norm.weight", {sizes.hidden});
    feed_forward(layer, "mlp.", "", sizes.hidden, sizes.feed_forward);
  }
}

void describe_llama(Job& job) {
  const Sizes sizes = read_sizes(job.config);
  write_standard_keys(job, sizes, sizes.layers);
  job.keys.count("vocab_size", sizes.vocabulary);
  job.keys.count("rope.dimension_count", sizes.head_size);
  const Config rope = job.config.section("rope_parameters");
  if (rope.text("rope_type") == "llama3")
    job.plan.add_constants("rope_freqs.weight", rope_divisors(rope, sizes.head_size));
  dense_layers(job, find_root(job.plan), sizes);
}

void describe_granite(Job& job) {
  Sizes sizes = read_sizes(job.config);
  sizes.head_size = sizes.hidden / sizes.heads;
  write_standard_keys(job, sizes, sizes.layers);
  job.keys.count("vocab_size", sizes.vocabulary);
  job.keys.count("rope.dimension_count", sizes.head_size);
  write_granite_factors(job);
  dense_layers(job, find_root(job.plan), sizes);
}

}  // namespace

const Family kLlama = {"llama", {"LlamaForCausalLM", "MistralForCausalLM"}, describe_llama, {}};
const Family kGranite = {"granite", {"GraniteForCausalLM"}, describe_granite, {{"refact"}}};

}  // namespace terrace::tools
