// The sampling options of run and chat, by llama.cpp's names.
#pragma once

#include <CLI/CLI.hpp>

#include "engine/generator.h"

namespace terrace::cli {

struct SamplingOptions {
  engine::GenerateOptions generate;
  std::vector<std::string> logit_bias;  ///< "ID+BIAS" or "ID-BIAS"
  int64_t max_tokens = -1;

  void add(CLI::App& command);
  /// What chooses tokens only: not the seed, nor what ends an answer.
  void add_sampler(CLI::App& command);
  /// Puts the parsed pieces into `generate`.
  Status finish();
};

}  // namespace terrace::cli
