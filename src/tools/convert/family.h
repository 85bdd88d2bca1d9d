// A family: how its checkpoints become the GGUF files of an architecture. One file each, in families/.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "tools/convert/job.h"
#include "tools/convert/tokenizer.h"

namespace terrace::tools {

struct Family {
  std::string_view architecture;          ///< general.architecture
  std::vector<std::string_view> classes;  ///< what config.json may say in "architectures"
  void (*describe)(Job& job);             ///< keys and tensors
  TokenizerForm tokenizer;
};

extern const Family kLlama, kGranite, kQwen2, kQwen3, kQwen3Moe, kQwen3Next, kQwen35, kQwen35Moe, kQwen4Exp, kGptOss,
    kLfm2, kLfm2Moe, kGemma3, kGemma4, kGraniteHybrid;

/// The family of a config.json, or an error that lists the classes that can be converted.
Result<const Family*> find_family(const Config& config);

}  // namespace terrace::tools
