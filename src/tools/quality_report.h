// A comparison as a page with a table and plots, and as JSON.
#pragma once

#include <string>
#include <vector>

#include "tools/quality.h"

namespace terrace::tools {

struct QualityReport {
  std::string model, reference;  ///< names to show
  uint64_t model_bytes = 0;      ///< of its file
  std::string numeric;           ///< the numeric profile
  std::optional<double> noise;   ///< self_divergence(), if it was measured
  std::vector<Comparison> comparisons;
};

/// {"model", "reference", "model_bytes", "numeric", "noise", "texts": [{"kind", "positions", "kl", "kl_top64",
/// "same_best", "perplexity", "reference_perplexity"}]}; unknown figures are null.
std::string quality_json(const QualityReport& report);
/// One HTML page with its styles and drawings inside.
std::string quality_page(const QualityReport& report);
/// The table for a terminal.
std::string quality_table(const QualityReport& report);

}  // namespace terrace::tools
