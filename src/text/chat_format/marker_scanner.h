// Finds marks in a text that comes byte by byte.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace terrace::text {

/// The leftmost mark counts, and of those that begin there the longest. Text that could be the start of a mark is held
/// back. Costs a byte the number of marks times their length: there are few, and they are short.
class MarkerScanner {
 public:
  struct Found {
    std::string text;            ///< stands before the mark and is none
    std::optional<size_t> mark;  ///< which
    std::string rest;            ///< stood behind the mark: to be pushed again, if anything
  };

  /// Empty marks are none.
  explicit MarkerScanner(std::vector<std::string> marks) : marks_(std::move(marks)) {}

  /// Nothing is held, and no mark begins with `byte`: it is text.
  bool passes(char byte) const;
  Found push(char byte);
  /// No more text comes: what is held is a mark, or begins with text.
  Found finish();
  bool holds() const { return !held_.empty(); }
  const std::string& mark(size_t index) const { return marks_[index]; }

 private:
  Found settle(bool last);

  std::vector<std::string> marks_;
  std::string held_;
};

}  // namespace terrace::text
