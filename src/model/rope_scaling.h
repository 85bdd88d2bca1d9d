// Rope frequencies of a model, with the scaling kinds of GGUF: none, linear, YaRN, llama3 (a tensor of divisors),
// longrope.
#pragma once

#include <vector>

#include "model/loader.h"

namespace terrace::model {

struct RopeFrequencies {
  std::vector<float> frequencies;  ///< radians per position, one per pair
  float magnitude = 1;             ///< multiplies cosines and sines
  compute::Rope view() const { return {frequencies, magnitude}; }
};

/// The frequencies for heads whose first `dimensions` values turn, from `rope.*` metadata and the rope_freqs /
/// rope_factors tensors. Ropes are loaded in the order of their indices. `round_yarn`: whether YaRN's correction range
/// is rounded to whole pairs, as it is unless a family says otherwise.
Result<RopeFrequencies> load_rope(Loader& loader, size_t dimensions, bool round_yarn = true);

/// As they are without any scaling, from the base under `base_key` (10000 where the file has none).
Result<RopeFrequencies> load_plain_rope(Loader& loader, std::string_view base_key, size_t dimensions);

}  // namespace terrace::model
