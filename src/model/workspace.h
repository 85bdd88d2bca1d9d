// The rows of floats that a step works in: one block of memory, handed out front to back, kept for the next step.
#pragma once

#include <algorithm>

#include "base/buffer.h"
#include "compute/backend.h"

namespace terrace::model {

class Workspace {
 public:
  /// Starts a step that will take at most `floats` (rows() rounds each width up to 16).
  void begin(size_t floats) {
    if (buffer_.size() < floats * sizeof(float)) buffer_ = Buffer(floats * sizeof(float), Purpose::activations);
    used_ = 0;
  }
  compute::Rows rows(size_t count, size_t width) {
    const size_t stride = padded(width);
    compute::Rows rows{buffer_.as<float>() + used_, count, width, stride};
    used_ += count * stride;
    return rows;
  }
  /// A copy of some rows.
  compute::Rows chosen(const compute::Rows& from, std::span<const size_t> wanted) {
    const compute::Rows copy = rows(wanted.size(), from.width);
    for (size_t i = 0; i < wanted.size(); ++i) std::copy_n(from.row(wanted[i]), from.width, copy.row(i));
    return copy;
  }
  /// Rows handed out after mark() are free again after back_to().
  size_t mark() const { return used_; }
  void back_to(size_t mark) { used_ = mark; }
  static size_t padded(size_t width) { return (width + 15) / 16 * 16; }

 private:
  Buffer buffer_;
  size_t used_ = 0;
};

}  // namespace terrace::model
