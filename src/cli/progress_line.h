// One line on a terminal that says how far long work is.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "tools/progress.h"

namespace terrace::cli {

/// Draws on stderr, a few times a second and only if that is a terminal: share, rate, time left, what is at work. The
/// line is cleared when the object goes.
class ProgressLine {
 public:
  enum class Unit { bytes, tokens };
  /// `work` begins the line: "converting".
  explicit ProgressLine(std::string_view work, Unit unit = Unit::bytes);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// For the work, which must end before this object does. It is told to stop once interrupted() is true.
  tools::Progress callback();
  /// Seconds since the object was made.
  double seconds() const;
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  void draw(uint64_t done, uint64_t total, std::string_view what);

  std::string work_;
  Unit unit_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point start_, last_;
  uint64_t first_ = 0;  // done before this run
  bool started_ = false;
};

/// "1.25 GB", "310 kB": powers of 1000, as disks are sold and timed.
std::string show_bytes(uint64_t bytes);
/// "2 h 05 min", "3 min 20 s", "12 s".
std::string show_seconds(double seconds);

}  // namespace terrace::cli
