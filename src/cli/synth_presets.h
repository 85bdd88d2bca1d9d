// The shapes of released models, for `terrace synth`: metadata and tensors of a file without its weights.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "format/gguf.h"

namespace terrace::cli {

struct SynthTensor {
  format::GgufTensor tensor;
  std::optional<float> constant;  ///< all its values; none: random ones that keep a row's length
};

struct SynthModel {
  format::GgufMetadata metadata;
  std::vector<SynthTensor> tensors;
};

struct SynthRequest {
  std::string preset;
  uint32_t type = 0;        ///< ggml type code of the matrices; rows that it does not divide are Q8_0
  uint32_t layers = 0;      ///< 0: as the real model
  uint32_t vocabulary = 0;  ///< likewise
  uint64_t table_rows = 0;  ///< of an n-gram table, likewise
};

/// The names of the presets, separated by commas.
std::string synth_presets();
/// The model of that preset, or nothing if the name is unknown.
std::optional<SynthModel> make_synth_model(const SynthRequest& request);

}  // namespace terrace::cli
