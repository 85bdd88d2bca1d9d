#include "tools/perplexity.h"

#include <algorithm>
#include <cmath>

#include "tools/reference.h"

namespace terrace::tools {
namespace {

struct Losses {
  double sum = 0, squares = 0;
  size_t count = 0;
  void add(double loss) {
    sum += loss;
    squares += loss * loss;
    ++count;
  }
};

/// Adds the losses of the second half of a window.
Status score(engine::Engine& engine, std::span<const int32_t> read, std::span<const int32_t> text, Losses& losses) {
  engine::Sequence sequence;
  for (size_t first = 0; first < read.size();) {
    const size_t count = std::min(engine::Engine::kPromptChunk, read.size() - first);
    const bool wanted = first + count > read.size() / 2;
    const engine::Advance advance[] = {
        {&sequence, read.subspan(first, count), wanted ? engine::Advance::Logits::all : engine::Advance::Logits::none}};
    TERRACE_TRY(const compute::Rows rows, engine.step(advance));
    for (size_t r = 0; r < rows.count; ++r) {
      const size_t at = first + r;
      if (at < read.size() / 2 || at + 1 >= read.size()) continue;
      const std::span<const float> logits(rows.row(r), rows.width);
      losses.add(log_sum_exp(logits) - logits[static_cast<size_t>(text[at + 1])]);
    }
    first += count;
  }
  return Done{};
}

}  // namespace

Result<Perplexity> measure_perplexity(engine::Engine& engine, const Text& text, size_t window,
                                      const Progress& progress) {
  const size_t windows = text.tokens.size() / window;
  if (windows == 0)
    return fail("the text '{}' has {} tokens, fewer than one window of {}; choose a smaller --window", text.kind,
                text.tokens.size(), window);
  // What encode() puts before a text tells whether the model begins with BOS.
  const auto start = engine.tokenizer()->encode("", {.add_special = true});
  Losses losses;
  for (size_t w = 0; w < windows; ++w) {
    if (!progress(w * window, windows * window, text.kind)) return fail("{}", kInterrupted);
    const auto piece = std::span(text.tokens).subspan(w * window, window);
    std::vector<int32_t> read(piece.begin(), piece.end());
    if (!start.empty()) read[0] = start[0];
    TERRACE_CHECK(score(engine, read, piece, losses));
  }
  Perplexity result{windows, losses.count, 0, 0};
  const auto count = static_cast<double>(losses.count);
  const double mean = losses.sum / count, variance = losses.squares / count - mean * mean;
  result.value = std::exp(mean);
  result.error = losses.count > 1 ? result.value * std::sqrt(std::max(0.0, variance) / (count - 1)) : 0;
  return result;
}

}  // namespace terrace::tools
