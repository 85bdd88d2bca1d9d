// What the models with gated delta nets have in common.
#pragma once

#include "tools/convert/blocks.h"

namespace terrace::tools {

struct DeltaSizes {
  uint64_t key_heads = 1, value_heads = 1, head_size = 1, kernel = 1;
  uint64_t keys() const { return key_heads * head_size; }
  uint64_t values() const { return value_heads * head_size; }
  uint64_t channels() const { return 2 * keys() + values(); }
};

DeltaSizes read_delta_sizes(const Config& config);

/// ssm.*, which layers are recurrent, and the part of a head that rope turns.
void write_delta_keys(Job& job, const Sizes& sizes, const DeltaSizes& delta, const std::vector<std::string>& types,
                      uint64_t blocks);

/// linear_attn, with projections of their own for z, a and b, and value heads in turns.
void delta_net(const Scope& layer, const Sizes& sizes, const DeltaSizes& delta);
/// linear_attn, with q, k, v, z in one projection and b, a in another; value heads as they are.
void joined_delta_net(const Scope& layer, const Sizes& sizes, const DeltaSizes& delta);

/// Attention with a gate beside the queries.
void gated_attention(const Scope& layer, const Sizes& sizes);

struct MixtureSizes {
  ExpertSizes experts;
  uint64_t shared = 0;
};
MixtureSizes read_mixture_sizes(const Config& config);
void write_mixture_keys(Job& job, const MixtureSizes& mixture);
/// Router, experts, and the shared expert with its gate.
void mixture(const Scope& layer, const MixtureSizes& mixture, uint64_t hidden);

/// Where the draft head's names begin, "" if the checkpoint has none. More than one layer in it is refused.
std::string find_draft_root(TensorPlan& plan);

}  // namespace terrace::tools
