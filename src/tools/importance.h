// Importance matrices: how much each column of a matrix matters, as the mean square of what it was multiplied with.
// The file is llama.cpp's GGUF form (tools/imatrix): per tensor NAME, "NAME.in_sum2" [columns, matrices] holds sums of
// squares and "NAME.counts" [1, matrices] how many inputs were summed. Of single matrices Terrace also writes
// "NAME.in_sketch" [kDirections, columns]: where their inputs lie (sketch.h). llama.cpp passes over it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace terrace::tools {

/// What was collected for one tensor: `matrices` of them (experts), each with its own sums.
struct ColumnSums {
  size_t columns = 0;
  std::vector<double> squares;  ///< [matrices][columns]
  std::vector<double> counts;   ///< [matrices]
  std::vector<double> sketch;   ///< [columns][kDirections] of a single matrix, or empty
};

struct ImportanceFile {
  std::map<std::string, ColumnSums> tensors;
  std::vector<std::string> datasets;  ///< names of the texts
  uint32_t chunks = 0, chunk_size = 0;
};

/// Errors name the file and the tensor: not an importance matrix, sums without counts or of another shape, values that
/// are negative or not finite, a sketch that does not belong to the sums.
Result<ImportanceFile> load_importance(const std::string& path);
Status save_importance(const std::string& path, const ImportanceFile& file);

/// The mean squares of each column, [matrices][columns]. A matrix that was never used has the mean of the others, or
/// ones where there is no other.
std::vector<float> column_importance(const ColumnSums& sums);
/// [columns][kDirections] that go with these means, or empty where there is no sketch.
std::vector<float> column_directions(const ColumnSums& sums);

}  // namespace terrace::tools
