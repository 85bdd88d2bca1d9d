// gemma3: norms behind both branches, sliding windows.
#include "tools/convert/blocks.h"
#include "tools/convert/family.h"

namespace terrace::tools {
namespace {

const How kNorm = {{}, Change::add_one, {}};

/// What the files of the releases leave out.
void add_defaults(Config& config) {
  config.add_default("num_attention_heads", 8);
  config.add_default("num_key_value_heads", 4);
  config.add_default("head_dim", 256);
  config.add_default("rms_norm_eps", 1e-6);
  config.add_default("max_position_embeddings", 131072);
  config.add_default("vocab_size", 262208);
  config.add_default("tie_word_embeddings", true);
}

void write_keys(Job& job, const Sizes& sizes) {
  job.keys.number("rope.freq_base", 1e6);
  job.keys.number("rope.freq_base_swa", 1e4);
  write_standard_keys(job, sizes, sizes.layers);
  if (job.config.has("final_logit_softcapping"))
    job.keys.number("final_logit_softcapping", job.config.number("final_logit_softcapping"));
  job.keys.count("attention.sliding_window", job.config.count("sliding_window"));
}

void describe(Job& job) {
  add_defaults(job.config);
  const Sizes sizes = read_sizes(job.config);
  const std::string root = find_root(job.plan);
  write_keys(job, sizes);
  embedding_and_head(job, root, sizes);
  final_norm(job, root, sizes, Change::add_one);
  AttentionForm form;
  form.norms = Change::add_one;
  for (uint64_t i = 0; i < sizes.layers; ++i) {
    const Scope layer = layer_scope(job, root, i);
    layer.copy("input_layernorm.weight", "attn_norm.weight", {sizes.hidden}, kNorm);
    attention(layer, sizes, form);
    layer.copy("post_attention_layernorm.weight", "post_attention_norm.weight", {sizes.hidden}, kNorm);
    layer.copy("pre_feedforward_layernorm.weight", "ffn_norm.weight", {sizes.hidden}, kNorm);
    feed_forward(layer, "mlp.", "", sizes.hidden, sizes.feed_forward);
    layer.copy("post_feedforward_layernorm.weight", "post_ffw_norm.weight", {sizes.hidden}, kNorm);
  }
  skip_towers(job);
}

TokenizerForm tokenizer() {
  TokenizerForm form;
  form.space_prefix = false;
  return form;
}

}  // namespace

const Family kGemma3 = {"gemma3", {"Gemma3ForCausalLM", "Gemma3ForConditionalGeneration"}, describe, tokenizer()};

}  // namespace terrace::tools
