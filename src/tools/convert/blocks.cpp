#include "tools/convert/blocks.h"

#include <array>

namespace terrace::tools {
namespace {

constexpr uint64_t kMostWidth = 1 << 24;
constexpr uint64_t kMostHeads = 1 << 16;
constexpr uint64_t kMostHeadSize = 1 << 16;

void write_rope_keys(const Config& rope, ModelKeys& keys) {
  const std::string type = rope.text("rope_type");
  if (type == "linear" && rope.has("factor")) {
    keys.text("rope.scaling.type", type);
    keys.number("rope.scaling.factor", rope.number("factor"));
  } else if (type == "yarn" && rope.has("factor")) {
    keys.text("rope.scaling.type", type);
    keys.number("rope.scaling.factor", rope.number("factor"));
    keys.count("rope.scaling.original_context_length", rope.count("original_max_position_embeddings"));
    struct Extra {
      const char *key, *older, *name;
    };
    constexpr Extra kExtras[] = {{"extrapolation_factor", "extrapolation_factor", "yarn_ext_factor"},
                                 {"attention_factor", "attn_factor", "yarn_attn_factor"},
                                 {"beta_fast", "beta_fast", "yarn_beta_fast"},
                                 {"beta_slow", "beta_slow", "yarn_beta_slow"}};
    for (const Extra& extra : kExtras) {
      const char* key = rope.first_of({extra.key, extra.older});
      if (rope.has(key)) keys.number(std::string("rope.scaling.") + extra.name, rope.number(key));
    }
  } else if (!type.empty() && type != "default" && type != "llama3" && type != "proportional") {
    rope.refuse(fmt::format("the rope type '{}' is none that Terrace converts", type));
  }
  if (rope.has("rope_theta")) keys.number("rope.freq_base", rope.number("rope_theta"));
}

void write_all_rope_keys(const Config& config, ModelKeys& keys) {
  const Config rope = config.section("rope_parameters");
  write_rope_keys(rope.has("full_attention") ? rope.section("full_attention") : rope, keys);
  if (rope.has("mrope_section")) {
    std::vector<uint64_t> sections = rope.counts("mrope_section");
    sections.resize(4);
    keys.counts("rope.dimension_sections", sections);
  }
  const Config sliding = rope.section("sliding_attention");
  if (sliding.has("rope_theta")) keys.number("rope.freq_base_swa", sliding.number("rope_theta"));
}

}  // namespace

Sizes read_sizes(const Config& config) {
  Sizes sizes;
  sizes.layers = config.count("num_hidden_layers", Config::kMostLayers);
  sizes.hidden = config.count("hidden_size", kMostWidth);
  sizes.heads = config.count("num_attention_heads", kMostHeads);
  sizes.kv_heads = config.count_or("num_key_value_heads", sizes.heads, kMostHeads);
  sizes.head_size = config.count_or("head_dim", std::max<uint64_t>(1, sizes.hidden / sizes.heads), kMostHeadSize);
  if (sizes.head_size > kMostHeadSize) {
    config.refuse("'hidden_size' / 'num_attention_heads' is no size of a head");
    sizes.head_size = 1;
  }
  sizes.feed_forward = config.count_or_none("intermediate_size", kMostWidth);
  sizes.vocabulary = config.count("vocab_size", kMostWidth);
  return sizes;
}

void write_standard_keys(Job& job, const Sizes& sizes, uint64_t blocks) {
  const Config& config = job.config;
  ModelKeys& keys = job.keys;
  keys.count("block_count", blocks);
  keys.count("context_length", config.count("max_position_embeddings"));
  keys.count("embedding_length", sizes.hidden);
  if (sizes.feed_forward > 0) keys.count("feed_forward_length", sizes.feed_forward);
  keys.count("attention.head_count", sizes.heads);
  keys.count("attention.head_count_kv", sizes.kv_heads);
  write_all_rope_keys(config, keys);
  keys.number("attention.layer_norm_rms_epsilon", config.number(config.first_of({"rms_norm_eps", "norm_eps"})));
  const char* experts = config.first_of({"num_local_experts", "num_experts", "n_routed_experts"});
  if (config.has(experts)) keys.count("expert_count", config.count(experts, Config::kMostExperts));
  const char* used = config.first_of({"num_experts_per_tok", "top_k_experts"});
  if (config.has(used)) keys.count("expert_used_count", config.count(used, Config::kMostExperts));
  if (config.has("head_dim")) {
    keys.count("attention.key_length", sizes.head_size);
    keys.count("attention.value_length", sizes.head_size);
  }
}

std::string find_root(TensorPlan& plan) {
  constexpr std::array kRoots = {"model.", "model.language_model.", "language_model.model.", "language_model.", ""};
  for (const char* root : kRoots) {
    if (plan.has(std::string(root) + "embed_tokens.weight")) return root;
  }
  return kRoots[0];
}

void embedding_and_head(Job& job, const std::string& root, const Sizes& sizes) {
  const Shape shape = {sizes.vocabulary, sizes.hidden};
  job.plan.copy(root + "embed_tokens.weight", "token_embd.weight", shape);
  const bool outside = !job.plan.has("lm_head.weight") && job.plan.has("language_model.lm_head.weight");
  const std::string head = outside ? "language_model.lm_head.weight" : "lm_head.weight";
  if (!job.config.flag("tie_word_embeddings", false)) {
    job.plan.copy(head, "output.weight", shape);
  } else if (job.plan.has(head)) {
    job.plan.skip_name(head);
    job.notes.push_back(head + " is left out: config.json says that the head is the embedding");
  }
}

void final_norm(Job& job, const std::string& root, const Sizes& sizes, Change change) {
  job.plan.copy(root + "norm.weight", "output_norm.weight", {sizes.hidden}, {{}, change, {}});
}

Scope layer_scope(Job& job, const std::string& root, uint64_t layer) {
  return {job.plan, fmt::format("{}layers.{}.", root, layer), fmt::format("blk.{}.", layer)};
}

void attention(const Scope& layer, const Sizes& sizes, const AttentionForm& form) {
  const Scope from = layer.inside("self_attn.");
  const uint64_t size = sizes.head_size, queries = sizes.heads * size * (form.gated ? 2 : 1);
  const uint64_t keys = sizes.kv_heads * size, hidden = sizes.hidden;
  const auto order = [&](uint64_t heads, uint64_t columns) {
    return How{form.rotary_pairs ? rotary_pairs(heads, size, columns) : Order{}, Change::none, {}};
  };
  from.copy("q_proj.weight", "attn_q.weight", {queries, hidden}, order(sizes.heads, hidden));
  from.copy("k_proj.weight", "attn_k.weight", {keys, hidden}, order(sizes.kv_heads, hidden));
  from.copy("v_proj.weight", "attn_v.weight", {keys, hidden});
  from.copy(std::string(form.output) + ".weight", "attn_output.weight", {hidden, sizes.heads * size});
  from.copy_if_there("q_proj.bias", "attn_q.bias", {queries}, order(sizes.heads, 1));
  from.copy_if_there("k_proj.bias", "attn_k.bias", {keys}, order(sizes.kv_heads, 1));
  from.copy_if_there("v_proj.bias", "attn_v.bias", {keys});
  from.copy_if_there(std::string(form.output) + ".bias", "attn_output.bias", {hidden});
  const How norm = {{}, form.norms, {}};
  from.copy_if_there(std::string(form.query_norm) + ".weight", "attn_q_norm.weight", {size}, norm);
  from.copy_if_there(std::string(form.key_norm) + ".weight", "attn_k_norm.weight", {size}, norm);
}

void feed_forward(const Scope& layer, const char* root, const char* suffix, uint64_t hidden, uint64_t width) {
  const Scope from = layer.inside(root);
  from.copy("gate_proj.weight", fmt::format("ffn_gate{}.weight", suffix), {width, hidden});
  from.copy("up_proj.weight", fmt::format("ffn_up{}.weight", suffix), {width, hidden});
  from.copy("down_proj.weight", fmt::format("ffn_down{}.weight", suffix), {hidden, width});
}

void stack_experts(const Scope& layer, std::string_view name, std::string_view to, uint64_t count, const Shape& one) {
  PlannedTensor tensor{layer.to(to), {count, one[0], one[1]}, {}};
  for (uint64_t expert = 0; expert < count; ++expert) {
    const std::string from = layer.from(fmt::format(fmt::runtime(name), expert));
    const CheckpointTensor* source = layer.plan.take(from, one);
    if (!source) return;
    tensor.pieces.push_back({source, 0, source->values(), {}, Change::none, nullptr, {}});
  }
  layer.plan.add(std::move(tensor));
}

void experts(const Scope& layer, const char* root, const ExpertSizes& sizes, uint64_t hidden) {
  const Scope from = layer.inside(root);
  const auto [count, width] = sizes;
  const Shape in = {width, hidden}, out = {hidden, width};
  if (from.has("0.gate_proj.weight")) {
    stack_experts(from, "{}.gate_proj.weight", "ffn_gate_exps.weight", count, in);
    stack_experts(from, "{}.up_proj.weight", "ffn_up_exps.weight", count, in);
    stack_experts(from, "{}.down_proj.weight", "ffn_down_exps.weight", count, out);
    return;
  }
  const std::string suffix = from.has("gate_up_proj.weight") ? ".weight" : "";
  const Shape both = {count, 2 * width, hidden}, part = {count, width, hidden};
  from.copy_rows("gate_up_proj" + suffix, "ffn_gate_exps.weight", both, 0, part);
  from.copy_rows("gate_up_proj" + suffix, "ffn_up_exps.weight", both, width, part);
  from.copy("down_proj" + suffix, "ffn_down_exps.weight", {count, hidden, width});
}

void skip_towers(Job& job) {
  constexpr std::array kTowers = {
      "visual.",           "vision_tower.", "vision_embed_tokens.", "multi_modal_projector.",
      "vision_projector.", "embed_vision.", "audio_tower.",         "embed_audio."};
  size_t skipped = 0;
  for (const char* tower : kTowers) skipped += job.plan.skip(tower) + job.plan.skip(std::string("model.") + tower);
  if (skipped > 0)
    job.notes.push_back(fmt::format("{} tensors for pictures and sound are left out: Terrace reads text", skipped));
}

std::vector<std::string> layer_types(const Config& config, uint64_t layers, const char* others) {
  std::vector<std::string> types = config.texts("layer_types");
  if (types.empty()) {
    const uint64_t interval = config.count_or("full_attention_interval", 4);
    for (uint64_t layer = 0; layer < layers; ++layer)
      types.emplace_back((layer + 1) % interval == 0 ? "full_attention" : others);
  }
  if (types.size() != layers)
    config.refuse(fmt::format("'layer_types' has {} entries for {} layers", types.size(), layers));
  types.resize(layers);
  return types;
}

}  // namespace terrace::tools
