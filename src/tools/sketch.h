// The directions in which the inputs of a matrix lie (format/fit/coupled.h), found without keeping their second
// moments: with C = sum of x x^T over the inputs, a sketch is C * Omega, where Omega [columns][kDirections] holds signs
// that are the same in every program run. Sketches add up as sums do. Source of the method: single-pass Nystroem
// approximation, Tropp, Yurtsever, Udell, Cevher, "Fixed-rank approximation of a positive-semidefinite matrix from
// streaming data", 2017.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "format/fit/coupled.h"

namespace terrace::tools {

/// Matrices with fewer columns have no sketch: it would not be smaller than C by much.
constexpr size_t kLeastSketchedColumns = 2 * format::kDirections;

/// Omega at (column, direction), 1 or -1: bit `direction` of splitmix64's output number `column` (Steele, Lea, Flood,
/// "Fast splittable pseudorandom number generators", 2014, seeded with 0), set for -1.
float sketch_sign(size_t column, size_t direction);

/// Adds inputs to sketches of a number of columns.
class Sketcher {
 public:
  explicit Sketcher(size_t columns);
  /// Row r of `count` rows lies at x + r * stride. `sketch` is [columns][kDirections].
  void add(const float* x, size_t count, size_t stride, double weight, std::span<double> sketch) const;

 private:
  std::vector<float> signs_;  // [columns][kDirections]
};

/// U with diag(squares) = diagonal of C and C about U U^T plus a diagonal matrix, all divided by `count`:
/// [columns][kDirections]. `squares` are the sums of squares that go with the sketch. Empty if the two do not belong
/// together; all 0 if the inputs lie in no directions more than in others, where what is left out would matter as much.
std::vector<float> directions_of(std::span<const double> squares, std::span<const double> sketch, double count);

}  // namespace terrace::tools
