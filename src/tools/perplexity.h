// Perplexity as llama.cpp's tool measures it, so that figures can be compared.
#pragma once

#include "engine/engine.h"
#include "tools/progress.h"
#include "tools/texts.h"

namespace terrace::tools {

struct Perplexity {
  size_t windows = 0, scored = 0;
  double value = 0;  ///< e to the mean loss
  double error = 0;  ///< of the value, from the standard error of the mean
};

/// Cuts the text into windows of `window` tokens, leaving out the rest at the end. Each is read on its own, its first
/// token replaced by BOS if the model begins texts with one, and the tokens of its second half are scored. An error for
/// a text shorter than one window.
Result<Perplexity> measure_perplexity(engine::Engine& engine, const Text& text, size_t window,
                                      const Progress& progress);

}  // namespace terrace::tools
