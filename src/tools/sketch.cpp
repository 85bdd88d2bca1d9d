#include "tools/sketch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace terrace::tools {
namespace {

constexpr size_t kWidth = format::kDirections;
using Square = std::array<std::array<double, kWidth>, kWidth>;

uint64_t splitmix64(uint64_t index) {
  uint64_t z = (index + 1) * 0x9E3779B97F4A7C15U;
  z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9U;
  z = (z ^ z >> 27) * 0x94D049BB133111EBU;
  return z ^ z >> 31;
}

/// The lower triangle L of L L^T = B, in place. A pivot that rounding leaves without value gets an infinite diagonal,
/// which makes its direction vanish.
void factorise(Square& b, double least_pivot) {
  for (size_t j = 0; j < kWidth; ++j) {
    for (size_t i = j; i < kWidth; ++i) {
      double sum = b[i][j];
      for (size_t k = 0; k < j; ++k) sum -= b[i][k] * b[j][k];
      if (i == j)
        b[j][j] = sum > least_pivot ? std::sqrt(sum) : INFINITY;
      else
        b[i][j] = sum / b[j][j];
    }
  }
}

/// row L^-T, in place.
void solve(const Square& l, std::array<double, kWidth>& row) {
  for (size_t j = 0; j < kWidth; ++j) {
    for (size_t k = 0; k < j; ++k) row[j] -= row[k] * l[j][k];
    row[j] /= l[j][j];
  }
}

}  // namespace

float sketch_sign(size_t column, size_t direction) { return splitmix64(column) >> direction & 1 ? -1.0F : 1.0F; }

Sketcher::Sketcher(size_t columns) : signs_(columns * kWidth) {
  for (size_t i = 0; i < signs_.size(); ++i) signs_[i] = sketch_sign(i / kWidth, i % kWidth);
}

void Sketcher::add(const float* x, size_t count, size_t stride, double weight, std::span<double> sketch) const {
  // Some rows at a time: their sums in floats, so that the doubles are seldom read and written.
  constexpr size_t kRows = 32;
  const size_t columns = signs_.size() / kWidth;
  for (size_t first = 0; first < count; first += kRows, x += kRows * stride) {
    const size_t rows = std::min(kRows, count - first);
    std::array<std::array<float, kWidth>, kRows> seen{};
    for (size_t r = 0; r < rows; ++r)
      for (size_t i = 0; i < columns; ++i)
        for (size_t k = 0; k < kWidth; ++k) seen[r][k] += x[r * stride + i] * signs_[i * kWidth + k];
    for (size_t i = 0; i < columns; ++i) {
      std::array<float, kWidth> sums{};
      for (size_t r = 0; r < rows; ++r)
        for (size_t k = 0; k < kWidth; ++k) sums[k] += x[r * stride + i] * seen[r][k];
      for (size_t k = 0; k < kWidth; ++k) sketch[i * kWidth + k] += weight * double{sums[k]};
    }
  }
}

std::vector<float> directions_of(std::span<const double> squares, std::span<const double> sketch, double count) {
  const size_t columns = squares.size();
  // C + shift * I instead of C: without it, inputs of few dimensions would leave nothing to divide by.
  const double shift = 1e-6 * std::accumulate(squares.begin(), squares.end(), 0.0) / static_cast<double>(columns);
  const auto shifted = [&](size_t i, size_t k) { return sketch[i * kWidth + k] + shift * double{sketch_sign(i, k)}; };
  Square b{};
  for (size_t i = 0; i < columns; ++i)
    for (size_t j = 0; j < kWidth; ++j)
      for (size_t k = 0; k <= j; ++k)
        b[j][k] += 0.5 * (double{sketch_sign(i, j)} * shifted(i, k) + double{sketch_sign(i, k)} * shifted(i, j));
  double largest = 0;
  for (size_t j = 0; j < kWidth; ++j) largest = std::max(largest, b[j][j]);
  // The diagonal holds sums of squares.
  for (size_t j = 0; j < kWidth; ++j)
    if (b[j][j] < -1e-3 * largest) return {};
  factorise(b, 1e-12 * largest);
  std::vector<float> directions(columns * kWidth);
  double whole = 0, explained = 0;
  for (size_t i = 0; i < columns; ++i) {
    std::array<double, kWidth> row{};
    for (size_t k = 0; k < kWidth; ++k) row[k] = shifted(i, k);
    solve(b, row);
    const double part = std::inner_product(row.begin(), row.end(), row.begin(), 0.0);
    // What is explained is part of the whole; a hundredth of the mean is left to rounding.
    if (!(part <= 1.01 * squares[i] + 1e4 * shift)) return {};
    whole += squares[i];
    explained += part;
    for (size_t k = 0; k < kWidth; ++k) directions[i * kWidth + k] = static_cast<float>(row[k] / std::sqrt(count));
  }
  // As many directions of inputs that lie everywhere would explain their share of the columns.
  const double share = static_cast<double>(kWidth) / static_cast<double>(columns);
  if (explained < 1.5 * share * whole) std::fill(directions.begin(), directions.end(), 0.0F);
  return directions;
}

}  // namespace terrace::tools
