#include "tools/convert/tensor_plan.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace terrace::tools {
namespace {

uint64_t product(const Shape& shape) {
  uint64_t result = 1;
  for (const uint64_t size : shape) result *= size;
  return result;
}

bool is_float(const std::string& dtype) { return dtype == "F32" || dtype == "F16" || dtype == "BF16"; }

std::string show(const Shape& shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace

uint64_t Piece::size() const {
  if (!source) return values.size();
  return order.unit == 0 ? count : order.unit * order.count;
}

uint64_t PlannedTensor::values() const { return product(shape); }

void TensorPlan::refuse(std::string what) {
  if (problem_.empty()) problem_ = std::move(what);
}

const CheckpointTensor* TensorPlan::take_any(const std::string& name, const Shape& shape) {
  const CheckpointTensor* tensor = checkpoint_.find(name);
  used_.insert(name);
  if (!tensor) {
    refuse(fmt::format("the tensor '{}' is missing in the checkpoint", name));
  } else if (tensor->shape != shape) {
    refuse(fmt::format("{}: the tensor '{}' has the shape {} where config.json asks for {}", checkpoint_.path(*tensor),
                       name, show(tensor->shape), show(shape)));
    return nullptr;
  }
  return tensor;
}

const CheckpointTensor* TensorPlan::take(const std::string& name, const Shape& shape) {
  const CheckpointTensor* tensor = take_any(name, shape);
  if (!tensor || is_float(tensor->dtype)) return tensor;
  refuse(
      fmt::format("{}: the tensor '{}' has the dtype {}; F32, F16 and BF16 can be converted, so take the release in "
                  "one of these",
                  checkpoint_.path(*tensor), name, tensor->dtype));
  return nullptr;
}

void TensorPlan::add(PlannedTensor tensor) {
  if (!names_.insert(tensor.name).second) refuse(fmt::format("the tensor '{}' would be written twice", tensor.name));
  tensors_.push_back(std::move(tensor));
}

void TensorPlan::copy(const std::string& from, const std::string& to, const Shape& shape, How how) {
  const CheckpointTensor* source = take(from, shape);
  if (!source) return;
  PlannedTensor tensor{to, how.as.empty() ? shape : how.as, {}};
  Piece piece{source, 0, source->values(), std::move(how.order), how.change, nullptr, {}};
  if (piece.size() != tensor.values())
    return refuse(fmt::format("the tensor '{}' does not give the {} values of '{}'", from, tensor.values(), to));
  tensor.pieces.push_back(std::move(piece));
  add(std::move(tensor));
}

void TensorPlan::copy_if_there(const std::string& from, const std::string& to, const Shape& shape, How how) {
  if (has(from)) copy(from, to, shape, std::move(how));
}

void TensorPlan::copy_rows(const std::string& from, const std::string& to, const Shape& matrices, uint64_t first,
                           const Shape& as) {
  Shape shape = matrices;
  if (as.size() == 2) shape.erase(shape.begin());
  const CheckpointTensor* source = take(from, shape);
  if (!source) return;
  const uint64_t rows = as[as.size() - 2], columns = as.back();
  PlannedTensor tensor{to, as, {}};
  for (uint64_t matrix = 0; matrix < matrices[0]; ++matrix) {
    const uint64_t start = (matrix * matrices[1] + first) * columns;
    tensor.pieces.push_back({source, start, rows * columns, {}, Change::none, nullptr, {}});
  }
  add(std::move(tensor));
}

void TensorPlan::add_constants(const std::string& to, std::vector<float> values) {
  PlannedTensor tensor{to, {values.size()}, {}};
  tensor.pieces.emplace_back();
  tensor.pieces[0].values = std::move(values);
  add(std::move(tensor));
}

size_t TensorPlan::skip(std::string_view prefix) {
  size_t skipped = 0;
  const auto& all = checkpoint_.tensors();
  for (auto at = all.lower_bound(prefix); at != all.end() && at->first.starts_with(prefix); ++at, ++skipped)
    used_.insert(at->first);
  return skipped;
}

Status TensorPlan::status() const {
  if (!problem_.empty()) return Error{problem_};
  std::vector<std::string> left;
  for (const auto& [name, tensor] : checkpoint_.tensors()) {
    if (!used_.contains(name)) left.push_back(name);
  }
  if (left.empty()) return Done{};
  const std::string more = left.size() == 1 ? "" : fmt::format(" and {} more", left.size() - 1);
  return fail("{}: the tensor '{}'{} has no place in this architecture as Terrace knows it",
              checkpoint_.path(*checkpoint_.find(left[0])), left[0], more);
}

}  // namespace terrace::tools
