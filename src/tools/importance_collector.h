// terrace imatrix: collects what every matrix of a model is multiplied with while it reads a text.
#pragma once

#include "compute/observing_backend.h"
#include "engine/engine.h"
#include "tools/importance.h"
#include "tools/progress.h"
#include "tools/sketch.h"

namespace terrace::tools {

/// Sums the squares of the inputs of every product, by column, and sketches those of single matrices. Experts have no
/// sketches: there are too many for the memory these would take.
class ImportanceCollector : public compute::ProductObserver {
 public:
  void placed(const compute::MatrixView& view) override;
  void product(const compute::MatrixView& view, compute::Rows inputs) override;
  const std::map<std::string, ColumnSums, std::less<>>& sums() const { return sums_; }
  /// An error that names a tensor whose inputs were not finite.
  Status check() const;

 private:
  std::map<std::string, ColumnSums, std::less<>> sums_;
  std::map<size_t, Sketcher> sketchers_;  // by columns
};

/// Reads `tokens` in pieces of `chunk`, each on its own, and returns what `collector` (the engine's observer) saw. What
/// is left over at the end and is no whole chunk is not read, unless it is all there is.
Result<ImportanceFile> collect_importance(engine::Engine& engine, const ImportanceCollector& collector,
                                          std::span<const int32_t> tokens, size_t chunk, const Progress& progress);

}  // namespace terrace::tools
