// What a render may cost. Templates come from model files: they may end a request with an error, never the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace terrace::text::jinja {

/// Thrown inside this folder only; Template's functions turn it into an Error.
class Failure : public std::runtime_error {
 public:
  explicit Failure(const std::string& message, int at_line = 0) : std::runtime_error(message), line(at_line) {}
  int line;            ///< 0: not known where it was thrown
  bool plain = false;  ///< the message is the template's own (raise_exception): no line is put in front
};

struct Limits {
  size_t output_bytes = size_t{64} << 20;  ///< of the rendered text, and of any one string made on the way
  size_t work_bytes = size_t{1} << 30;     ///< of all strings and lists made during one render
  uint64_t steps = 50'000'000;             ///< evaluated nodes and visited elements
};

constexpr int kMaxNesting = 256;        ///< of the source: brackets, blocks, unary operators
constexpr int kMaxTreeDepth = 1000;     ///< of one expression's tree; chains like a + b + c grow it by one per operator
constexpr int kMaxEvaluation = 2000;    ///< of nested evaluations, through macros and recursive loops
constexpr int kMaxCalls = 200;          ///< of macros and recursive loops inside each other
constexpr int kMaxValueDepth = 300;     ///< of containers in containers
constexpr int64_t kMaxRange = 100'000;  ///< elements of a range(), as in Jinja's sandbox

/// Counts down what is left of the limits during one render.
class Budget {
 public:
  explicit Budget(const Limits& limits) : limits_(limits) {}

  void step(uint64_t count = 1) {
    steps_ += count;
    if (steps_ > limits_.steps)
      throw Failure("the template takes too many steps (limit " + std::to_string(limits_.steps) + ")");
  }
  /// To be called before a string or list of that many bytes is made.
  void allocate(size_t bytes) {
    if (bytes > limits_.output_bytes) {
      throw Failure("a value of " + std::to_string(bytes) + " bytes is too long (limit " +
                    std::to_string(limits_.output_bytes) + ")");
    }
    bytes_ += bytes;
    if (bytes_ > limits_.work_bytes) {
      throw Failure("the template makes too much text (limit " + std::to_string(limits_.work_bytes) + " bytes)");
    }
  }
  /// As allocate, for `count` pieces of `bytes` each; the product may exceed 64 bits.
  void allocate(size_t count, size_t bytes) {
    if (bytes != 0 && count > limits_.output_bytes / bytes) {
      throw Failure("a value of " + std::to_string(count) + " times " + std::to_string(bytes) +
                    " bytes is too long (limit " + std::to_string(limits_.output_bytes) + ")");
    }
    allocate(count * bytes);
  }
  /// Refuses a text under construction that has grown past the limit.
  void check_length(size_t bytes) const {
    if (bytes > limits_.output_bytes) {
      throw Failure("the text is too long (limit " + std::to_string(limits_.output_bytes) + " bytes)");
    }
  }

 private:
  Limits limits_;
  uint64_t steps_ = 0;
  size_t bytes_ = 0;
};

}  // namespace terrace::text::jinja
