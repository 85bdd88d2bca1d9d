#include "cli/synth_presets.h"

#include <fmt/format.h>

#include <algorithm>

#include "format/block_type.h"

namespace terrace::cli {
namespace {

using format::GgufArray;
using format::GgufType;

GgufArray integers(std::vector<int64_t> values, GgufType type = GgufType::i32) {
  GgufArray array;
  array.type = type;
  array.integers = std::move(values);
  return array;
}

/// Collects the metadata and tensors of one model.
class Builder {
 public:
  Builder(const SynthRequest& wanted, std::string architecture, uint32_t real_layers, uint32_t hidden_size,
          uint32_t real_vocabulary)
      : request(wanted),
        layers(wanted.layers > 0 ? wanted.layers : real_layers),
        hidden(hidden_size),
        vocabulary(wanted.vocabulary > 0 ? wanted.vocabulary : real_vocabulary),
        architecture_(std::move(architecture)) {
    model.metadata.set("general.architecture", architecture_);
    model.metadata.set("general.name", fmt::format("random weights in the shape of {}", request.preset));
    model.metadata.set("tokenizer.ggml.model", "no_vocab");
    key("block_count", layers);
    key("vocab_size", vocabulary);
    key("context_length", uint32_t{131072});
    key("embedding_length", hidden);
    key("attention.layer_norm_rms_epsilon", 1e-6F);
    matrix("token_embd", hidden, vocabulary);
  }

  template <class Value>
  void key(const std::string& name, Value value) {
    model.metadata.set(architecture_ + "." + name, std::move(value));
  }
  /// Random weights of the request's type, or of `type`; `count` matrices in one tensor.
  void matrix(const std::string& name, uint64_t inputs, uint64_t rows, uint64_t count = 1, const char* type = nullptr) {
    const format::BlockType* block =
        type ? format::find_block_type(std::string_view(type)) : format::find_block_type(request.type);
    if (inputs % block->values != 0) block = format::find_block_type("Q8_0");
    if (inputs % block->values != 0) block = format::find_block_type("F32");
    std::vector<uint64_t> shape = {inputs, rows};
    if (count > 1) shape.push_back(count);
    model.tensors.push_back({{name + ".weight", block->code, shape, 0, {}}, std::nullopt});
  }
  /// Equal floats; `name` is whole.
  void vector(const std::string& name, uint64_t size, float value = 1) {
    model.tensors.push_back({{name, 0, {size}, 0, {}}, value});
  }
  void norm(const std::string& name, uint64_t size) { vector(name + ".weight", size); }

  void attention_keys(uint32_t heads, uint32_t kv_heads, uint32_t size, uint32_t rotated, float base) {
    key("attention.head_count", heads);
    key("attention.head_count_kv", kv_heads);
    key("attention.key_length", size);
    key("attention.value_length", size);
    key("rope.dimension_count", rotated);
    key("rope.freq_base", base);
  }
  void attention(const std::string& prefix, uint64_t heads, uint64_t kv_heads, uint64_t size, bool gated = false) {
    matrix(prefix + "attn_q", hidden, heads * size * (gated ? 2 : 1));
    matrix(prefix + "attn_k", hidden, kv_heads * size);
    matrix(prefix + "attn_v", hidden, kv_heads * size);
    matrix(prefix + "attn_output", heads * size, hidden);
  }
  void head_norms(const std::string& prefix, uint64_t size) {
    norm(prefix + "attn_q_norm", size);
    norm(prefix + "attn_k_norm", size);
  }
  void feed_forward(const std::string& prefix, uint64_t width, const std::string& suffix = "") {
    matrix(prefix + "ffn_gate" + suffix, hidden, width);
    matrix(prefix + "ffn_up" + suffix, hidden, width);
    matrix(prefix + "ffn_down" + suffix, width, hidden);
  }
  void expert_keys(uint32_t count, uint32_t used, uint32_t width, uint32_t shared = 0) {
    key("expert_count", count);
    key("expert_used_count", used);
    key("expert_feed_forward_length", width);
    if (shared > 0) key("expert_shared_feed_forward_length", shared);
  }
  void experts(const std::string& prefix, uint64_t count, uint64_t width, uint64_t shared = 0,
               const char* type = nullptr) {
    matrix(prefix + "ffn_gate_inp", hidden, count, 1, "F32");
    matrix(prefix + "ffn_gate_exps", hidden, width, count, type);
    matrix(prefix + "ffn_up_exps", hidden, width, count, type);
    matrix(prefix + "ffn_down_exps", width, hidden, count, type);
    if (shared == 0) return;
    feed_forward(prefix, shared, "_shexp");
    vector(prefix + "ffn_gate_inp_shexp.weight", hidden, 0.01F);
  }
  void delta_net_keys(uint32_t key_heads, uint32_t value_heads, uint32_t size) {
    key("ssm.conv_kernel", uint32_t{4});
    key("ssm.state_size", size);
    key("ssm.group_count", key_heads);
    key("ssm.time_step_rank", value_heads);
    key("ssm.inner_size", value_heads * size);
  }
  void delta_net(const std::string& prefix, uint64_t key_heads, uint64_t value_heads, uint64_t size) {
    const uint64_t inner = value_heads * size, channels = 2 * key_heads * size + inner;
    matrix(prefix + "attn_qkv", hidden, channels);
    matrix(prefix + "attn_gate", hidden, inner);
    matrix(prefix + "ssm_beta", hidden, value_heads, 1, "F32");
    matrix(prefix + "ssm_alpha", hidden, value_heads, 1, "F32");
    matrix(prefix + "ssm_conv1d", 4, channels, 1, "F32");
    vector(prefix + "ssm_a", value_heads, -1);
    vector(prefix + "ssm_dt.bias", value_heads, 0);
    norm(prefix + "ssm_norm", size);
    matrix(prefix + "ssm_out", inner, hidden);
  }
  void head(bool tied) {
    norm("output_norm", hidden);
    if (!tied) matrix("output", hidden, vocabulary);
  }
  static std::string block(uint32_t layer) { return fmt::format("blk.{}.", layer); }

  const SynthRequest& request;
  const uint32_t layers, hidden, vocabulary;
  SynthModel model;

 private:
  std::string architecture_;
};

struct Dense {
  uint32_t layers, hidden, width, heads, kv_heads, head_size, vocabulary;
  float rope_base;
  bool tied;
};

Builder dense(const SynthRequest& request, const char* architecture, const Dense& shape) {
  Builder builder(request, architecture, shape.layers, shape.hidden, shape.vocabulary);
  builder.key("feed_forward_length", shape.width);
  builder.attention_keys(shape.heads, shape.kv_heads, shape.head_size, shape.head_size, shape.rope_base);
  builder.head(shape.tied);
  for (uint32_t layer = 0; layer < builder.layers; ++layer) {
    const std::string prefix = Builder::block(layer);
    builder.norm(prefix + "attn_norm", shape.hidden);
    builder.attention(prefix, shape.heads, shape.kv_heads, shape.head_size);
    builder.norm(prefix + "ffn_norm", shape.hidden);
    builder.feed_forward(prefix, shape.width);
  }
  return builder;
}

SynthModel granite_8b(const SynthRequest& request) {
  Builder builder = dense(request, "granite", {40, 4096, 12800, 32, 8, 128, 49155, 10000000, true});
  builder.key("attention.scale", 0.0078125F);
  builder.key("embedding_scale", 12.0F);
  builder.key("residual_scale", 0.22F);
  builder.key("logit_scale", 16.0F);
  return std::move(builder.model);
}

SynthModel qwen3_30b_a3b(const SynthRequest& request) {
  Builder builder(request, "qwen3moe", 48, 2048, 151936);
  builder.key("feed_forward_length", uint32_t{6144});
  builder.attention_keys(32, 4, 128, 128, 1000000);
  builder.expert_keys(128, 8, 768);
  builder.head(false);
  for (uint32_t layer = 0; layer < builder.layers; ++layer) {
    const std::string prefix = Builder::block(layer);
    builder.norm(prefix + "attn_norm", 2048);
    builder.attention(prefix, 32, 4, 128);
    builder.head_norms(prefix, 128);
    builder.norm(prefix + "ffn_norm", 2048);
    builder.experts(prefix, 128, 768);
  }
  return std::move(builder.model);
}

/// Delta nets with full attention in every fourth layer; width 0: experts.
SynthModel qwen35(const SynthRequest& request, const char* architecture, uint32_t layers, uint32_t hidden,
                  uint32_t width, uint32_t kv_heads) {
  Builder builder(request, architecture, layers, hidden, 248320);
  builder.attention_keys(16, kv_heads, 256, 64, 10000000);
  builder.key("rope.dimension_sections", integers({11, 11, 10, 0}));
  builder.key("full_attention_interval", uint32_t{4});
  builder.delta_net_keys(16, 32, 128);
  if (width > 0)
    builder.key("feed_forward_length", width);
  else
    builder.expert_keys(256, 8, 512, 512);
  builder.head(false);
  for (uint32_t layer = 0; layer < builder.layers; ++layer) {
    const std::string prefix = Builder::block(layer);
    builder.norm(prefix + "attn_norm", hidden);
    if ((layer + 1) % 4 == 0) {
      builder.attention(prefix, 16, kv_heads, 256, /*gated=*/true);
      builder.head_norms(prefix, 256);
    } else {
      builder.delta_net(prefix, 16, 32, 128);
    }
    builder.norm(prefix + "post_attention_norm", hidden);
    if (width > 0)
      builder.feed_forward(prefix, width);
    else
      builder.experts(prefix, 256, 512, 512);
  }
  return std::move(builder.model);
}

void hyper_connection(Builder& builder, const std::string& prefix, bool inject) {
  const uint64_t width = 4 * uint64_t{builder.hidden};
  builder.norm(prefix + "norm", width);
  builder.matrix(prefix + "down", width, 320);
  builder.matrix(prefix + "up", 320, width);
  if (inject) builder.matrix(prefix + "inject", width, 4, 1, "F32");
}

/// The hashed n-gram table of layer 1 and what reads it; head sizes are equal here, in the release they are primes.
void ngram_table(Builder& builder) {
  const uint64_t rows = builder.request.table_rows > 0 ? builder.request.table_rows / 16 : 20000096;
  std::vector<int64_t> sizes(16, static_cast<int64_t>(rows)), offsets;
  for (int64_t head = 0; head < 16; ++head) offsets.push_back(head * static_cast<int64_t>(rows));
  builder.key("ple.layers", integers({1}));
  builder.key("ple.ngram_size", uint32_t{3});
  builder.key("ple.heads_per_ngram", uint32_t{8});
  builder.key("ple.conv_kernel", uint32_t{4});
  builder.key("ple.eos_token_id", uint32_t{0});
  builder.key("embedding_length_per_layer_input", uint32_t{160});
  builder.key("ple.layer_multipliers", integers({23703573157769, 20109073645365, 8052911324071}, GgufType::i64));
  builder.key("ple.head_vocab_sizes", integers(std::move(sizes), GgufType::i64));
  builder.key("ple.head_offsets", integers(std::move(offsets), GgufType::i64));
  const uint64_t width = 4 * uint64_t{builder.hidden};
  builder.matrix("per_layer_token_embd", 160, 16 * rows, 1, "IQ4_NL");
  builder.matrix("blk.1.ple_key", 2560, width);
  builder.matrix("blk.1.ple_value", 2560, builder.hidden);
  builder.matrix("blk.1.ple_conv1d", 4, width, 1, "F32");
  for (const char* norm : {"norm_key", "norm_query", "norm_conv"})
    builder.norm(fmt::format("blk.1.ple_{}", norm), width);
}

SynthModel qwen38_flash_next(const SynthRequest& request) {
  Builder builder(request, "qwen4exp", 48, 2560, 248320);
  builder.attention_keys(24, 2, 256, 64, 10000000);
  builder.delta_net_keys(16, 48, 128);
  builder.expert_keys(512, 10, 640, 640);
  builder.key("hyper_connection.count", uint32_t{4});
  builder.key("hyper_connection.low_rank", uint32_t{320});
  builder.key("attention.indexer.head_count", uint32_t{4});
  builder.key("attention.indexer.key_length", uint32_t{128});
  builder.key("attention.indexer.top_k", uint32_t{2048});
  std::vector<int64_t> recurrent, ratios;
  for (uint32_t layer = 0; layer < builder.layers; ++layer) {
    recurrent.push_back((layer + 1) % 4 != 0);
    ratios.push_back(recurrent.back() ? 0 : 4);
  }
  builder.key("attention.recurrent_layers", integers(recurrent, GgufType::boolean));
  builder.key("attention.compress_ratios", integers(ratios));
  builder.matrix("output", 2560, builder.vocabulary);
  hyper_connection(builder, "output_hc_", false);
  for (uint32_t layer = 0; layer < builder.layers; ++layer) {
    const std::string prefix = Builder::block(layer);
    hyper_connection(builder, prefix + "hc_attn_", true);
    if (recurrent[layer]) {
      builder.delta_net(prefix, 16, 48, 128);
    } else {
      builder.attention(prefix, 24, 2, 256, /*gated=*/true);
      builder.head_norms(prefix, 256);
      builder.matrix(prefix + "indexer.q_proj", 2560, 4 * 128);
      builder.matrix(prefix + "indexer.k_proj", 2560, 128);
      builder.norm(prefix + "indexer.q_norm", 128);
      builder.norm(prefix + "indexer.k_norm", 128);
    }
    hyper_connection(builder, prefix + "hc_ffn_", true);
    builder.experts(prefix, 512, 640, 640);
  }
  if (builder.layers > 1) ngram_table(builder);
  return std::move(builder.model);
}

SynthModel gpt_oss_20b(const SynthRequest& request) {
  Builder builder(request, "gpt-oss", 24, 2880, 201088);
  builder.key("feed_forward_length", uint32_t{2880});
  builder.attention_keys(64, 8, 64, 64, 150000);
  builder.key("rope.scaling.type", "yarn");
  builder.key("rope.scaling.factor", 32.0F);
  builder.key("rope.scaling.original_context_length", uint32_t{4096});
  builder.key("attention.sliding_window", uint32_t{128});
  builder.expert_keys(32, 4, 2880);
  builder.head(false);
  for (uint32_t layer = 0; layer < builder.layers; ++layer) {
    const std::string prefix = Builder::block(layer);
    builder.norm(prefix + "attn_norm", 2880);
    builder.attention(prefix, 64, 8, 64);
    builder.vector(prefix + "attn_q.bias", 4096, 0);
    builder.vector(prefix + "attn_k.bias", 512, 0);
    builder.vector(prefix + "attn_v.bias", 512, 0);
    builder.vector(prefix + "attn_output.bias", 2880, 0);
    builder.vector(prefix + "attn_sinks.weight", 64, 0);
    builder.norm(prefix + "post_attention_norm", 2880);
    builder.experts(prefix, 32, 2880, 0, "MXFP4");
    builder.vector(prefix + "ffn_gate_inp.bias", 32, 0);
    for (const char* part : {"gate", "up", "down"})
      builder.model.tensors.push_back({{fmt::format("{}ffn_{}_exps.bias", prefix, part), 0, {2880, 32}, 0, {}}, 0.0F});
  }
  return std::move(builder.model);
}

SynthModel lfm2_8b_a1b(const SynthRequest& request) {
  Builder builder(request, "lfm2moe", 24, 2048, 65536);
  const std::vector<uint32_t> attention = {2, 6, 10, 14, 18, 21};
  std::vector<int64_t> kv_heads;
  for (uint32_t layer = 0; layer < builder.layers; ++layer)
    kv_heads.push_back(std::count(attention.begin(), attention.end(), layer) > 0 ? 8 : 0);
  builder.key("feed_forward_length", uint32_t{7168});
  builder.key("attention.head_count", uint32_t{32});
  builder.key("attention.head_count_kv", integers(kv_heads));
  builder.key("rope.freq_base", 1000000.0F);
  builder.key("shortconv.l_cache", uint32_t{3});
  builder.key("leading_dense_block_count", uint32_t{2});
  builder.key("expert_gating_func", uint32_t{2});
  builder.expert_keys(32, 4, 1792);
  builder.norm("token_embd_norm", 2048);
  for (uint32_t layer = 0; layer < builder.layers; ++layer) {
    const std::string prefix = Builder::block(layer);
    builder.norm(prefix + "attn_norm", 2048);
    if (kv_heads[layer] > 0) {
      builder.attention(prefix, 32, 8, 64);
      builder.head_norms(prefix, 64);
    } else {
      builder.matrix(prefix + "shortconv.in_proj", 2048, 3 * 2048);
      builder.matrix(prefix + "shortconv.conv", 3, 2048, 1, "F32");
      builder.matrix(prefix + "shortconv.out_proj", 2048, 2048);
    }
    builder.norm(prefix + "ffn_norm", 2048);
    if (layer < 2) {
      builder.feed_forward(prefix, 7168);
    } else {
      builder.experts(prefix, 32, 1792);
      builder.vector(prefix + "exp_probs_b.bias", 32, 0);
    }
  }
  return std::move(builder.model);
}

SynthModel gemma4_e4b(const SynthRequest& request) {
  Builder builder(request, "gemma4", 42, 2560, 262144);
  const uint32_t layers = builder.layers, shared = std::min<uint32_t>(18, layers > 6 ? layers - 6 : 0);
  builder.key("feed_forward_length", uint32_t{10240});
  builder.attention_keys(8, 2, 512, 512, 1000000);
  builder.key("attention.key_length_swa", uint32_t{256});
  builder.key("attention.value_length_swa", uint32_t{256});
  builder.key("rope.dimension_count_swa", uint32_t{256});
  builder.key("rope.freq_base_swa", 10000.0F);
  builder.key("attention.sliding_window", uint32_t{512});
  builder.key("attention.shared_kv_layers", shared);
  builder.key("embedding_length_per_layer_input", uint32_t{256});
  builder.key("final_logit_softcapping", 30.0F);
  std::vector<int64_t> slides;
  for (uint32_t layer = 0; layer < layers; ++layer) slides.push_back((layer + 1) % 6 != 0);
  builder.key("attention.sliding_window_pattern", integers(slides, GgufType::boolean));
  builder.head(true);
  builder.matrix("per_layer_token_embd", 256 * uint64_t{layers}, builder.vocabulary);
  builder.matrix("per_layer_model_proj", 2560, 256 * uint64_t{layers});
  builder.norm("per_layer_proj_norm", 256);
  // The first quarter of the pairs turns.
  builder.vector("rope_freqs.weight", 256);
  for (uint32_t layer = 0; layer < layers; ++layer) {
    const std::string prefix = Builder::block(layer);
    const uint64_t size = slides[layer] ? 256 : 512;
    for (const char* norm : {"attn_norm", "post_attention_norm", "ffn_norm", "post_ffw_norm", "post_norm"})
      builder.norm(prefix + norm, 2560);
    builder.matrix(prefix + "attn_q", 2560, 8 * size);
    builder.matrix(prefix + "attn_output", 8 * size, 2560);
    builder.norm(prefix + "attn_q_norm", size);
    if (layer < layers - shared) {
      builder.matrix(prefix + "attn_k", 2560, 2 * size);
      builder.matrix(prefix + "attn_v", 2560, 2 * size);
      builder.norm(prefix + "attn_k_norm", size);
    }
    builder.feed_forward(prefix, 10240);
    builder.matrix(prefix + "inp_gate", 2560, 256);
    builder.matrix(prefix + "proj", 256, 2560);
    builder.vector(prefix + "layer_output_scale.weight", 1);
  }
  return std::move(builder.model);
}

struct Preset {
  const char* name;
  SynthModel (*make)(const SynthRequest&);
};
// Sizes as the released models' configurations give them.
const Preset kPresets[] = {
    {"llama-1b",
     [](const SynthRequest& r) {
       return std::move(dense(r, "llama", {16, 2048, 8192, 32, 8, 64, 128256, 500000, true}).model);
     }},
    {"llama-8b",
     [](const SynthRequest& r) {
       return std::move(dense(r, "llama", {32, 4096, 14336, 32, 8, 128, 128256, 500000, false}).model);
     }},
    {"granite-8b", granite_8b},
    {"qwen3-30b-a3b", qwen3_30b_a3b},
    {"qwen3.5-9b", [](const SynthRequest& r) { return qwen35(r, "qwen35", 32, 4096, 12288, 4); }},
    {"qwen3.6-35b-a3b", [](const SynthRequest& r) { return qwen35(r, "qwen35moe", 40, 2048, 0, 2); }},
    {"qwen3.8-flash-next", qwen38_flash_next},
    {"gpt-oss-20b", gpt_oss_20b},
    {"lfm2-8b-a1b", lfm2_8b_a1b},
    {"gemma4-e4b", gemma4_e4b},
};

}  // namespace

std::string synth_presets() {
  std::string names;
  for (const Preset& preset : kPresets) names += (names.empty() ? "" : ", ") + std::string(preset.name);
  return names;
}

std::optional<SynthModel> make_synth_model(const SynthRequest& request) {
  for (const Preset& preset : kPresets) {
    if (request.preset == preset.name) return preset.make(request);
  }
  return std::nullopt;
}

}  // namespace terrace::cli
