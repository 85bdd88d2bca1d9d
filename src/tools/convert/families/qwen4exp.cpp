// qwen4exp: several residual streams, delta nets, sparse attention, hashed n-gram embeddings, experts, a draft head.
#include <algorithm>

#include "tools/convert/delta_net.h"
#include "tools/convert/family.h"

namespace terrace::tools {
namespace {

const How kNorm = {{}, Change::add_one, {}};

struct Model {
  Sizes sizes;
  DeltaSizes delta;
  MixtureSizes mixture;
  uint64_t streams = 1, low_rank = 1;                       // of hyper-connections
  uint64_t indexer_heads = 1, indexer_size = 1, ratio = 1;  // of block selection
  uint64_t wide() const { return streams * sizes.hidden; }
};

Model read_model(const Config& config) {
  Model model = {read_sizes(config), read_delta_sizes(config), read_mixture_sizes(config)};
  model.streams = config.count("hc_count", 64);
  model.low_rank = config.count("hc_lowrank", 65536);
  model.indexer_heads = config.count("indexer_n_heads", 4096);
  model.indexer_size = config.count("indexer_head_dim", 4096);
  model.ratio = config.count("indexer_compress_ratio", 65536);
  return model;
}

/// `to` ends the names: "hc_attn_" makes hc_attn_norm and so on.
void hyper_connection(const Scope& layer, const Model& model, const char* from_name, const std::string& to,
                      bool inject) {
  const Scope from = layer.inside(from_name);
  const uint64_t wide = model.wide();
  from.copy("hc_norm.weight", to + "norm.weight", {wide}, kNorm);
  from.copy("input_mix_weight_down.weight", to + "down.weight", {model.low_rank, wide});
  from.copy("input_mix_weight_up.weight", to + "up.weight", {wide, model.low_rank});
  if (inject) from.copy("block_inject_weight.weight", to + "inject.weight", {model.streams, wide});
}

void sparse_attention(const Scope& layer, const Model& model) {
  gated_attention(layer, model.sizes);
  const Scope from = layer.inside("self_attn.indexer.");
  const uint64_t size = model.indexer_size, queries = model.indexer_heads * size, hidden = model.sizes.hidden;
  const Shape both = {1, queries + size, hidden};
  from.copy_rows("index_qk_proj.weight", "indexer.q_proj.weight", both, 0, {queries, hidden});
  from.copy_rows("index_qk_proj.weight", "indexer.k_proj.weight", both, queries, {size, hidden});
  from.copy("q_layernorm.weight", "indexer.q_norm.weight", {size}, kNorm);
  from.copy("k_layernorm.weight", "indexer.k_norm.weight", {size}, kNorm);
}

void stream_layer(const Scope& layer, const Model& model, bool recurrent) {
  hyper_connection(layer, model, "attn_hyper_connection.", "hc_attn_", true);
  if (recurrent)
    delta_net(layer, model.sizes, model.delta);
  else
    sparse_attention(layer, model);
  hyper_connection(layer, model, "mlp_hyper_connection.", "hc_ffn_", true);
  mixture(layer, model.mixture, model.sizes.hidden);
}

void draft_head(Job& job, const std::string& root, const Model& model) {
  const uint64_t hidden = model.sizes.hidden;
  const std::string block = fmt::format("blk.{}.", model.sizes.layers);
  const Scope head(job.plan, root, block + "nextn.");
  head.copy("pre_fc_norm_embedding.weight", "enorm.weight", {hidden}, kNorm);
  head.copy("pre_fc_norm_hidden.weight", "hnorm.weight", {model.wide()}, kNorm);
  head.copy("fc_embedding.weight", "e_proj.weight", {hidden, hidden});
  head.copy("fc_hidden.weight", "h_proj.weight", {hidden, hidden});
  hyper_connection(head, model, "hyper_connection_mixer.", "hc_", false);
  stream_layer(Scope(job.plan, root + "layers.0.", block), model, false);
}

/// The values of an int64 tensor, which are keys in the file: floats could not hold them.
std::vector<uint64_t> read_constants(Job& job, const std::string& name, uint64_t count) {
  std::vector<uint64_t> values(count, 1);
  const CheckpointTensor* tensor = job.plan.take_any(name, {count});
  if (!tensor) return values;
  if (tensor->dtype != "I64") {
    job.plan.refuse(fmt::format("the tensor '{}' has the dtype {}, not I64", name, tensor->dtype));
    return values;
  }
  const Status status = job.plan.checkpoint().read(*tensor, 0, std::as_writable_bytes(std::span(values)));
  if (!status) job.plan.refuse(status.error().message);
  if (std::any_of(values.begin(), values.end(), [](uint64_t value) { return value >> 63 != 0; }))
    job.plan.refuse(fmt::format("the tensor '{}' has a value below 0", name));
  return values;
}

/// The table, whose parts the checkpoint numbers. Returns the length of a row.
uint64_t ngram_table(Job& job, const Scope& embedding, uint64_t rows_needed) {
  PlannedTensor table{"per_layer_token_embd.weight", {0, 1}, {}};
  const uint64_t parts = job.config.count("split_ngram_parts", 65536);
  for (uint64_t i = 0; i < parts; ++i) {
    const std::string name = embedding.from(fmt::format("ngram_embedding.shard_{}.weight", i));
    const CheckpointTensor* found = job.plan.checkpoint().find(name);
    const Shape shape = found && found->shape.size() == 2 ? found->shape : Shape{1, 1};
    const CheckpointTensor* part = job.plan.take(name, shape);
    if (!part) return 1;
    if (i > 0 && shape[1] != table.shape[1])
      job.plan.refuse(fmt::format("the tensor '{}' has rows of {} values, the parts before have {}", name, shape[1],
                                  table.shape[1]));
    table.shape = {table.shape[0] + shape[0], shape[1]};
    table.pieces.push_back({part, 0, part->values(), {}, Change::none, nullptr, {}});
  }
  if (table.shape[0] < rows_needed)
    job.plan.refuse(fmt::format("the n-gram table has {} rows, its heads need {}", table.shape[0], rows_needed));
  const uint64_t width = table.shape[1];
  job.plan.add(std::move(table));
  return width;
}

/// The first entry of a list, as the reference takes it; the public converter takes the last.
uint64_t end_of_text(const Config& config) {
  const std::vector<uint64_t> list = config.counts("eos_token_id");
  if (list.empty()) config.refuse("'eos_token_id' is missing: n-grams end there");
  return list.empty() ? 0 : list[0];
}

void ngram_embedding(Job& job, const std::string& root, const Model& model, uint64_t layer_index) {
  const Config& config = job.config;
  ModelKeys& keys = job.keys;
  const uint64_t size = config.count("ngram_size", 64), heads = config.count("heads_per_ngram", 4096);
  const uint64_t kernel = config.count("ple_conv_kernel_size", 4096),
                 all_heads = (std::max<uint64_t>(size, 1) - 1) * heads;
  const uint64_t wide = model.wide(), hidden = model.sizes.hidden, width = config.count("ple_embed_dim");
  const Scope from = layer_scope(job, root, layer_index).inside("ple.");
  const Scope embedding = from.inside("ple_embedding.");
  const auto offsets = read_constants(job, embedding.from("ngram_heads_offsets"), all_heads);
  const auto head_sizes = read_constants(job, embedding.from("ngram_heads_vocab_sizes"), all_heads);

  keys.counts("ple.layers", {layer_index});
  keys.count("ple.ngram_size", size);
  keys.count("ple.heads_per_ngram", heads);
  keys.count("ple.conv_kernel", kernel);
  keys.count("ple.eos_token_id", end_of_text(config));
  if (config.has("image_token_id")) keys.count("ple.image_token_id", config.count_or_none("image_token_id"));
  keys.large_counts("ple.layer_multipliers", read_constants(job, embedding.from("layer_multipliers"), size));
  keys.large_counts("ple.head_offsets", offsets);
  keys.large_counts("ple.head_vocab_sizes", head_sizes);
  const uint64_t rows = all_heads == 0 ? 0 : offsets.back() + head_sizes.back();
  keys.count("embedding_length_per_layer_input", ngram_table(job, embedding, rows));

  from.copy("conv1d.weight", "ple_conv1d.weight", {wide, 1, kernel}, {{}, Change::none, {wide, kernel}});
  from.copy("key_proj.weight", "ple_key.weight", {wide, width});
  from.copy("value_proj.weight", "ple_value.weight", {hidden, width});
  for (const char* norm : {"norm_conv", "norm_key", "norm_query"})
    from.copy(fmt::format("{}.weight", norm), fmt::format("ple_{}.weight", norm), {wide}, kNorm);
}

void write_keys(Job& job, const Model& model, const std::vector<std::string>& types, uint64_t blocks) {
  ModelKeys& keys = job.keys;
  write_standard_keys(job, model.sizes, blocks);
  if (blocks > model.sizes.layers) keys.count("nextn_predict_layers", blocks - model.sizes.layers);
  write_mixture_keys(job, model.mixture);
  write_delta_keys(job, model.sizes, model.delta, types, blocks);
  keys.count("hyper_connection.count", model.streams);
  keys.count("hyper_connection.low_rank", model.low_rank);
  keys.count("attention.indexer.head_count", model.indexer_heads);
  keys.count("attention.indexer.key_length", model.indexer_size);
  keys.count("attention.indexer.top_k", job.config.count("indexer_budget"));
  // The draft head's layer selects blocks, too.
  std::vector<uint64_t> ratios(blocks, model.ratio);
  for (uint64_t i = 0; i < types.size(); ++i) ratios[i] = types[i] == "linear_attention" ? 0 : model.ratio;
  keys.counts("attention.compress_ratios", ratios);
}

void describe(Job& job) {
  if (!job.config.section("rope_parameters").has("mrope_section"))
    job.keys.counts("rope.dimension_sections", {11, 11, 10, 0});
  const Model model = read_model(job.config);
  const std::string root = find_root(job.plan), draft = find_draft_root(job.plan);
  const std::vector<std::string> types = layer_types(job.config, model.sizes.layers);
  write_keys(job, model, types, model.sizes.layers + (draft.empty() ? 0 : 1));

  embedding_and_head(job, root, model.sizes);
  hyper_connection(Scope(job.plan, root, ""), model, "hyper_connection_mixer.", "output_hc_", false);
  for (uint64_t i = 0; i < model.sizes.layers; ++i)
    stream_layer(layer_scope(job, root, i), model, types[i] == "linear_attention");
  const std::vector<uint64_t> ngram_layers = job.config.counts("ple_layer_ids");  // counted from 1
  if (ngram_layers.size() > 1) job.config.refuse("n-gram embeddings in more than one layer are not converted");
  if (!ngram_layers.empty() && ngram_layers[0] > 0) ngram_embedding(job, root, model, ngram_layers[0] - 1);
  if (!draft.empty()) draft_head(job, draft, model);
  skip_towers(job);
}

}  // namespace

const Family kQwen4Exp = {"qwen4exp", {"Qwen4ExpForConditionalGeneration", "Qwen4ExpForCausalLM"}, describe, {}};

}  // namespace terrace::tools
