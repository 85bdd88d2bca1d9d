// Any bytes as an importance matrix: an error, or sums that give finite weights and directions for every column.
#include <cmath>

#include "memory_file.h"
#include "tools/importance.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const MemoryFile file(data, size);
  const auto loaded = terrace::tools::load_importance(file.path());
  if (!loaded) {
    if (loaded.error().message.empty()) __builtin_trap();
    return 0;
  }
  for (const auto& [name, sums] : loaded->tensors) {
    const auto weights = terrace::tools::column_importance(sums);
    if (weights.size() != sums.columns * sums.counts.size()) __builtin_trap();
    for (const float weight : weights)
      if (!(weight >= 0) || !std::isfinite(weight)) __builtin_trap();
    const auto directions = terrace::tools::column_directions(sums);
    if (directions.size() != sums.sketch.size()) __builtin_trap();
    for (const float along : directions)
      if (!std::isfinite(along)) __builtin_trap();
  }
  return 0;
}
