// How many rows of prompts a step may read beside decodes, so that these keep their pace.
#pragma once

#include <algorithm>
#include <cstddef>

namespace terrace::engine {

/// Learns from the steps' times. A step that reads prompts beside decodes is to take at most kStretch times one that
/// only decodes.
class StepPace {
 public:
  /// Rows of prompts for the next step beside `decodes` decoding sequences; 0: it should only decode, to be measured.
  size_t rows(size_t decodes, size_t most) {
    if (decodes == 0) return most;
    ++mixed_;
    if (decode_seconds_ == 0 || mixed_ % kRemeasure == 0) return 0;
    if (row_seconds_ == 0) return std::min(most, kFewest);
    const double rows = (kStretch - 1) * decode_seconds_ / row_seconds_;
    return std::clamp(static_cast<size_t>(std::min(rows, 1e9)), std::min(kFewest, most), most);
  }
  void measured(double seconds, size_t decodes, size_t prompt_rows) {
    if (prompt_rows == 0) {
      learn(decode_seconds_, seconds);
    } else if (prompt_rows >= kFewest) {
      const double rest = decodes == 0 ? seconds : std::max(seconds - decode_seconds_, seconds / 8);
      learn(row_seconds_, rest / static_cast<double>(prompt_rows));
    }
  }

 private:
  static constexpr double kStretch = 2.5;
  static constexpr size_t kFewest = 16;      ///< rows: fewer would read the weights for too little
  static constexpr size_t kRemeasure = 128;  ///< steps

  static void learn(double& value, double measured) { value = value == 0 ? measured : 0.8 * value + 0.2 * measured; }

  double decode_seconds_ = 0;  ///< of a step that only decodes
  double row_seconds_ = 0;     ///< of a row of a prompt
  size_t mixed_ = 0;
};

}  // namespace terrace::engine
