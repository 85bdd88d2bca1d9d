#include "tools/importance_collector.h"

#include <algorithm>
#include <cmath>

namespace terrace::tools {

void ImportanceCollector::placed(const compute::MatrixView& view) {
  // A tensor may be cut into matrices, by columns or by experts: room is made for each as it comes.
  ColumnSums& sums = sums_[std::string(view.tensor)];
  const size_t columns = std::max(sums.columns, view.first_input + view.inputs);
  sums.counts.resize(std::max(sums.counts.size(), view.index + 1));
  sums.columns = columns;
  sums.squares.assign(sums.counts.size() * columns, 0);
  const bool whole = view.index == 0 && view.first_input == 0 && view.inputs == columns && sums.counts.size() == 1;
  sums.sketch.assign(whole && columns >= kLeastSketchedColumns ? columns * format::kDirections : 0, 0);
}

void ImportanceCollector::product(const compute::MatrixView& view, compute::Rows inputs) {
  ColumnSums& sums = sums_.find(view.tensor)->second;
  double* squares = sums.squares.data() + view.index * sums.columns + view.first_input;
  for (size_t r = 0; r < inputs.count; ++r)
    for (size_t i = 0; i < view.inputs; ++i) squares[i] += double{inputs.row(r)[i]} * inputs.row(r)[i];
  if (!sums.sketch.empty()) {
    const Sketcher& sketcher = sketchers_.try_emplace(sums.columns, sums.columns).first->second;
    sketcher.add(inputs.row(0), inputs.count, inputs.stride, 1, sums.sketch);
  }
  // Parts of a row count once.
  if (view.first_input == 0) sums.counts[view.index] += static_cast<double>(inputs.count);
}

Status ImportanceCollector::check() const {
  for (const auto& [name, sums] : sums_)
    if (!std::all_of(sums.squares.begin(), sums.squares.end(), [](double value) { return std::isfinite(value); }))
      return fail("the inputs of '{}' are not finite; the model is damaged", name);
  return Done{};
}

Result<ImportanceFile> collect_importance(engine::Engine& engine, const ImportanceCollector& collector,
                                          std::span<const int32_t> tokens, size_t chunk, const Progress& progress) {
  ImportanceFile file;
  file.chunk_size = static_cast<uint32_t>(chunk);
  const size_t total = std::max<size_t>(1, tokens.size() / chunk);
  for (; file.chunks < total; ++file.chunks) {
    if (!progress(file.chunks * chunk, total * chunk, "")) return fail("{}", kInterrupted);
    const auto piece = tokens.subspan(file.chunks * chunk, std::min(chunk, tokens.size()));
    engine::Sequence sequence;
    const engine::Advance advance[] = {{&sequence, piece, engine::Advance::Logits::all}};
    TERRACE_CHECK(engine.step(advance));
    TERRACE_CHECK(collector.check());
  }
  for (const auto& [name, sums] : collector.sums())
    if (std::any_of(sums.counts.begin(), sums.counts.end(), [](double count) { return count > 0; }))
      file.tensors.emplace(name, sums);
  return file;
}

}  // namespace terrace::tools
