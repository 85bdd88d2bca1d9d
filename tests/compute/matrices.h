// Encoded matrices for tests: recorded ones, random ones, and extreme ones; and backends to place them on.
#pragma once

#include "compute/cpu/cpu_backend.h"
#include "format/block_type.h"
#include "support/files.h"
#include "support/numbers.h"

namespace terrace::testing {

struct Encoded {
  const format::BlockType* type = nullptr;
  size_t rows = 0;
  size_t inputs = 0;
  std::vector<std::byte> bytes;

  compute::MatrixView view() const { return {type->code, rows, inputs, bytes}; }
  std::vector<float> row(size_t index) const {
    std::vector<float> values(inputs);
    const std::byte* from = bytes.data() + index * (inputs / type->values * type->bytes);
    for (size_t i = 0; i < inputs / type->values; ++i)
      type->codec->decode(from + i * type->bytes, values.data() + i * type->values);
    return values;
  }
};

/// All types that can be computed.
inline std::vector<const format::BlockType*> computable_types() {
  std::vector<const format::BlockType*> types;
  for (const format::BlockType& type : format::block_types())
    if (type.codec) types.push_back(&type);
  return types;
}

/// Blocks whose bytes `byte()` yields, scaled so that values are of the order of 0.05.
template <class Byte>
Encoded encoded(const format::BlockType& type, size_t rows, size_t inputs, Byte byte) {
  Encoded matrix{&type, rows, inputs, std::vector<std::byte>(rows * inputs / type.values * type.bytes)};
  for (std::byte& b : matrix.bytes) b = static_cast<std::byte>(byte());
  for (size_t i = 0; i < matrix.bytes.size(); i += type.bytes)
    type.codec->set_deviation(matrix.bytes.data() + i, 0.05F);
  return matrix;
}

inline Encoded random_matrix(const format::BlockType& type, size_t rows, size_t inputs, uint32_t seed = 1) {
  std::mt19937 random(seed);
  return encoded(type, rows, inputs, [&] { return random(); });
}

/// Whether tests/data/fixtures/quants has a matrix of that type: F32 and Terrace's own have none.
inline bool is_recorded(const format::BlockType& type) { return type.name != "F32" && !format::is_own_type(type.code); }
inline Encoded recorded_matrix(const format::BlockType& type) {
  const Arrays arrays(fixture("quants/" + std::string(type.name) + ".safetensors"));
  const auto& shape = arrays["values"].shape;
  return {&type, shape[0], shape[1], arrays.values<std::byte>("bytes")};
}

inline std::unique_ptr<compute::CpuBackend> backend(const std::string& isa, size_t threads = 1,
                                                    bool float_activations = false) {
  return take(compute::CpuBackend::create({threads, isa, float_activations}));
}

inline std::unique_ptr<compute::CpuMatrix> place(compute::CpuBackend& backend, const Encoded& matrix) {
  auto placed = backend.place(matrix.view());
  if (!placed) throw std::runtime_error("not computable: " + std::string(matrix.type->name));
  return std::unique_ptr<compute::CpuMatrix>(static_cast<compute::CpuMatrix*>(placed.release()));
}

}  // namespace terrace::testing
