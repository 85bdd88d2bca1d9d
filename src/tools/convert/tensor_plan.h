// What a converted file's tensors are made of: runs of values of checkpoint tensors, in which order, and how changed.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tools/convert/checkpoint.h"

namespace terrace::tools {

/// Sizes as a checkpoint lists them, slowest first.
using Shape = std::vector<uint64_t>;

/// The order in which a run's units, values that stay together, are taken. A unit of 0 values: all as they are.
struct Order {
  uint64_t unit = 0;
  uint64_t count = 0;                        ///< of units that are taken
  std::function<uint64_t(uint64_t)> source;  ///< which unit of the run the i-th one is
};

/// What happens to each value, in float.
enum class Change { none, add_one, negative_exp };

/// A run of values of an output tensor. It is what has to fit in memory.
struct Piece {
  const CheckpointTensor* source = nullptr;  ///< null: `values`
  uint64_t first = 0, count = 0;             ///< values of the source; of MXFP4 codes: blocks of 32
  Order order;                               ///< of values, or of blocks
  Change change = Change::none;
  const CheckpointTensor* scales = nullptr;  ///< the source holds MXFP4 codes, this their scales
  std::vector<float> values;

  /// Values, or blocks, of the output.
  uint64_t size() const;
};

struct PlannedTensor {
  std::string name;
  Shape shape;  ///< slowest first, as the pieces lie
  std::vector<Piece> pieces;
  uint64_t values() const;
};

/// How a tensor differs from its source.
struct How {
  Order order = {};
  Change change = Change::none;
  Shape as = {};  ///< its shape, if that is not the source's
};

/// Collects the tensors of a file. Families list them and go on; the first problem is kept for status(). Names of the
/// checkpoint that nobody has taken or skipped are a problem, too.
class TensorPlan {
 public:
  explicit TensorPlan(const Checkpoint& checkpoint) : checkpoint_(checkpoint) {}

  bool has(std::string_view name) const { return checkpoint_.find(name) != nullptr; }
  const Checkpoint& checkpoint() const { return checkpoint_; }
  const std::vector<PlannedTensor>& tensors() const { return tensors_; }

  /// The tensor of that name, which must have this shape and floats; null if there is a problem.
  const CheckpointTensor* take(const std::string& name, const Shape& shape);
  /// The same without a look at the dtype.
  const CheckpointTensor* take_any(const std::string& name, const Shape& shape);

  /// `to` is made of the tensor `from`.
  void copy(const std::string& from, const std::string& to, const Shape& shape, How how = {});
  void copy_if_there(const std::string& from, const std::string& to, const Shape& shape, How how = {});
  /// Part of a tensor: of each of its `matrices` matrices of shape[1] x shape[2], the rows from `first` on, as many as
  /// as[as.size() - 2] says.
  void copy_rows(const std::string& from, const std::string& to, const Shape& matrices, uint64_t first,
                 const Shape& as);
  void add(PlannedTensor tensor);
  void add_constants(const std::string& to, std::vector<float> values);

  /// Leaves out the tensors whose names begin so; returns how many there are.
  size_t skip(std::string_view prefix);
  /// Leaves out a tensor if it is there.
  void skip_name(std::string_view name) { used_.insert(std::string(name)); }

  void refuse(std::string what);
  Status status() const;

 private:
  const Checkpoint& checkpoint_;
  std::vector<PlannedTensor> tensors_;
  std::set<std::string, std::less<>> used_, names_;
  std::string problem_;
};

/// The tensors of one layer, or of another part: names behind a prefix on either side.
class Scope {
 public:
  Scope(TensorPlan& all, std::string from, std::string to) : plan(all), from_(std::move(from)), to_(std::move(to)) {}

  bool has(std::string_view name) const { return plan.has(from_ + std::string(name)); }
  std::string from(std::string_view name) const { return from_ + std::string(name); }
  std::string to(std::string_view name) const { return to_ + std::string(name); }
  Scope inside(std::string_view from_part) const { return {plan, from(from_part), to_}; }

  void copy(std::string_view from_name, std::string_view to_name, const Shape& shape, How how = {}) const {
    plan.copy(from(from_name), to(to_name), shape, std::move(how));
  }
  void copy_if_there(std::string_view from_name, std::string_view to_name, const Shape& shape, How how = {}) const {
    plan.copy_if_there(from(from_name), to(to_name), shape, std::move(how));
  }
  void copy_rows(std::string_view from_name, std::string_view to_name, const Shape& matrices, uint64_t first,
                 const Shape& as) const {
    plan.copy_rows(from(from_name), to(to_name), matrices, first, as);
  }

  TensorPlan& plan;

 private:
  std::string from_, to_;
};

}  // namespace terrace::tools
