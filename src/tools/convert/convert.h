// From a checkpoint folder, as Hugging Face's libraries write it, to a GGUF file.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "tools/progress.h"

namespace terrace::tools {

struct ConvertOptions {
  std::string folder;              ///< config.json, safetensors, tokenizer
  std::string out;                 ///< the GGUF file
  std::string type;                ///< of matrices; empty: as the checkpoint has them
  std::vector<std::string> rules;  ///< REGEX=TYPE, by names of the GGUF's tensors; the first that matches decides
  size_t threads = 1;              ///< for encoding
};

struct ConvertReport {
  std::string architecture;
  size_t tensors = 0;
  uint64_t bytes = 0;  ///< of tensor data
  uint64_t kept = 0;   ///< of them, taken over from an earlier run
  std::vector<std::string> notes;
};

/// Converts tensor by tensor: what is in memory is one tensor, or one expert, at most. Stopped by `progress` it leaves
/// a part that the same call continues, and the error kInterrupted; any other error leaves nothing.
Result<ConvertReport> convert(const ConvertOptions& options, const Progress& progress);

}  // namespace terrace::tools
