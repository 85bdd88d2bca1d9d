#include "format/fit/coupled.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "format/fit/fit.h"

namespace terrace::format {
namespace {

/// sums += weights * factor; `count` is a multiple of kLanes.
void add_multiple(const float* weights, float factor, size_t count, float* sums) {
  for (size_t k = 0; k < count; k += kLanes) {
    const Lanes sum = load_lanes(sums + k) + load_lanes(weights + k) * factor;
    std::memcpy(sums + k, &sum, sizeof sum);
  }
}

float product(const float* a, const float* b, size_t count) {
  Lanes sum{};
  for (size_t k = 0; k < count; k += kLanes) sum += load_lanes(a + k) * load_lanes(b + k);
  return total(sum);
}

/// H = U U^T + a diagonal. A row is kept as U^T e.
class AlongDirections {
 public:
  explicit AlongDirections(const Coupling& coupling)
      : directions_(coupling.directions), rest_(coupling.diagonal.size()), curvature_(rest_.size()) {
    for (size_t i = 0; i < rest_.size(); ++i) {
      const float along = product(direction(i), direction(i), kDirections);
      // A sketch may explain a little more than there is. H has to be of one piece, or turns would go back and forth.
      curvature_[i] = std::max(coupling.diagonal[i], along);
      rest_[i] = curvature_[i] - along;
    }
  }
  size_t kept() const { return kDirections; }
  void add(size_t column, float error, float* sums) const { add_multiple(direction(column), error, kDirections, sums); }
  float slope(size_t column, float error, const float* sums) const {
    return product(direction(column), sums, kDirections) + rest_[column] * error;
  }
  float curvature(size_t column) const { return curvature_[column]; }

 private:
  const float* direction(size_t column) const { return &directions_[column * kDirections]; }

  std::span<const float> directions_;
  std::vector<float> rest_, curvature_;
};

/// All of H. A row is kept as H e.
class AlongMoments {
 public:
  AlongMoments(const Coupling& coupling, size_t columns) : coupling_(coupling), columns_(columns) {}
  size_t kept() const { return columns_; }
  void add(size_t column, float error, float* sums) const {
    add_multiple(&coupling_.moments[column * columns_], error, columns_, sums);
  }
  float slope(size_t column, float, const float* sums) const { return sums[column]; }
  float curvature(size_t column) const { return coupling_.moments[column * columns_ + column]; }

 private:
  const Coupling& coupling_;
  size_t columns_;
};

/// What is known of a row while its codes change.
struct Row {
  std::vector<Line> lines;
  std::vector<uint8_t> codes;
  std::vector<float> errors, sums;

  Row(const BlockType& type, const float* values, size_t columns, const std::byte* blocks, size_t kept)
      : lines(columns), codes(columns), errors(columns), sums(kept) {
    decode_row(type, columns, blocks);
    for (size_t i = 0; i < columns; ++i) {
      codes[i] = nearest(errors[i], i, type);
      errors[i] -= values[i];
    }
  }

  uint8_t nearest(float value, size_t column, const BlockType& type) const {
    const Line& line = lines[column];
    const auto last = static_cast<float>(type.codec->codes->last);
    return static_cast<uint8_t>(nearest_code((value - line.low) * inverse_of(line.step), 0, last));
  }

 private:
  void decode_row(const BlockType& type, size_t columns, const std::byte* blocks) {
    for (size_t i = 0; i < columns; i += type.values, blocks += type.bytes) {
      type.codec->decode(blocks, errors.data() + i);
      type.codec->codes->lines(blocks, lines.data() + i);
    }
  }
};

/// Whether the code changed.
template <class Along>
bool improve(const BlockType& type, const float* values, size_t column, const Along& along, Row& row) {
  const float slope = along.slope(column, row.errors[column], row.sums.data());
  const float wanted = values[column] + row.errors[column] - slope / along.curvature(column);
  // Where there was no input, errors cost nothing; the nearest code is as good as it gets.
  if (!std::isfinite(wanted)) return false;
  const uint8_t code = row.nearest(wanted, column, type);
  if (code == row.codes[column]) return false;
  const float moved = row.lines[column].step * static_cast<float>(code - row.codes[column]);
  row.codes[column] = code;
  row.errors[column] += moved;
  along.add(column, moved, row.sums.data());
  return true;
}

template <class Along>
void round_rows(const BlockType& type, const float* values, size_t count, size_t columns, const Along& along,
                std::byte* blocks) {
  const size_t row_bytes = columns / type.values * type.bytes;
  std::vector<Row> rows;
  for (size_t r = 0; r < count; ++r)
    rows.emplace_back(type, values + r * columns, columns, blocks + r * row_bytes, along.kept());
  // Column by column for all rows, so that what belongs to a column is read once for them.
  for (size_t i = 0; i < columns; ++i)
    for (Row& row : rows) along.add(i, row.errors[i], row.sums.data());
  // Every turn lowers the cost, and the later ones change hardly a code.
  bool changed = true;
  for (int turn = 0; turn < 16 && changed; ++turn) {
    changed = false;
    for (size_t i = 0; i < columns; ++i)
      for (size_t r = 0; r < count; ++r) changed |= improve(type, values + r * columns, i, along, rows[r]);
  }
  for (size_t r = 0; r < count; ++r)
    for (size_t i = 0; i < columns; i += type.values)
      type.codec->codes->store(rows[r].codes.data() + i, blocks + r * row_bytes + i / type.values * type.bytes);
}

/// Some rows at a time: so many that what belongs to a column is read for several, so few that their sums stay near.
template <class Along>
void round_all(const BlockType& type, const float* values, size_t rows, size_t columns, const Along& along,
               std::byte* blocks) {
  constexpr size_t kRows = 16;
  const size_t row_bytes = columns / type.values * type.bytes;
  for (size_t first = 0; first < rows; first += kRows)
    round_rows(type, values + first * columns, std::min(kRows, rows - first), columns, along,
               blocks + first * row_bytes);
}

}  // namespace

void round_coupled(const BlockType& type, const float* values, size_t rows, size_t columns, const Coupling& coupling,
                   std::byte* blocks) {
  if (coupling.moments.empty())
    round_all(type, values, rows, columns, AlongDirections(coupling), blocks);
  else
    round_all(type, values, rows, columns, AlongMoments(coupling, columns), blocks);
}

}  // namespace terrace::format
