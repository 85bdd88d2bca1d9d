// What families have in common: sizes, keys, and the tensors of the usual blocks.
#pragma once

#include "tools/convert/job.h"
#include "tools/convert/orders.h"

namespace terrace::tools {

struct Sizes {
  uint64_t layers = 1, hidden = 1, heads = 1, kv_heads = 1, head_size = 1, feed_forward = 0, vocabulary = 1;
};

/// Reads the sizes that all families' files have. `head_dim` falls back to hidden / heads, `num_key_value_heads` to the
/// heads; `feed_forward` is 0 where the file has none.
Sizes read_sizes(const Config& config);

/// The keys that are the same in all families: sizes, rope, norms, experts. `blocks` counts draft layers, too.
void write_standard_keys(Job& job, const Sizes& sizes, uint64_t blocks);

/// Where names of the language model begin: "model.", or deeper in a checkpoint that also sees.
std::string find_root(TensorPlan& plan);

/// Embedding, head and, if it has a name here, the final norm.
void embedding_and_head(Job& job, const std::string& root, const Sizes& sizes);
void final_norm(Job& job, const std::string& root, const Sizes& sizes, Change change = Change::none);

/// Layer `layer`, below root + "layers.".
Scope layer_scope(Job& job, const std::string& root, uint64_t layer);

struct AttentionForm {
  bool rotary_pairs = false;    ///< q and k are permuted for a rope over neighbours
  bool gated = false;           ///< q has a gate beside each head's values
  Change norms = Change::none;  ///< of q and k
  const char* output = "o_proj";
  const char* query_norm = "q_norm";
  const char* key_norm = "k_norm";
};
/// self_attn: biases and q/k norms where the checkpoint has them.
void attention(const Scope& layer, const Sizes& sizes, const AttentionForm& form = {});

/// "<root>gate_proj", "up_proj", "down_proj" to ffn_gate<suffix> and so on.
void feed_forward(const Scope& layer, const char* root, const char* suffix, uint64_t hidden, uint64_t width);

struct ExpertSizes {
  uint64_t count = 1, width = 1;
};
/// Experts of either form: one by one, or all in gate_up_proj and down_proj. Gate and up become two tensors.
void experts(const Scope& layer, const char* root, const ExpertSizes& sizes, uint64_t hidden);

/// Experts that lie in tensors of their own: `name` holds "{}" for the number.
void stack_experts(const Scope& layer, std::string_view name, std::string_view to, uint64_t count, const Shape& one);

/// Skips what belongs to pictures and sound, and says so.
void skip_towers(Job& job);

/// "full_attention" and so on per layer; where the file has no list, every `interval`-th layer is full attention.
std::vector<std::string> layer_types(const Config& config, uint64_t layers, const char* others = "linear_attention");

}  // namespace terrace::tools
