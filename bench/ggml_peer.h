// llama.cpp's products of one row, from its library: what bench_kernels compares decode with.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/thread_team.h"
#include "format/block_type.h"

/// The functions of libggml-cpu.so (and of libggml-base.so, which it loads) that compute a matrix times a vector.
class GgmlPeer {
 public:
  /// Throws std::runtime_error if the library cannot be loaded.
  GgmlPeer(const std::string& library, size_t threads);

  /// Whether it has a product for the type. A type is known by its code and name together.
  bool has(const terrace::format::BlockType& type) const;
  /// Quantises x as llama.cpp does for this type, then computes the product of each row of file blocks with it; the
  /// rows are shared out to the threads.
  void multiply(const terrace::format::BlockType& type, std::span<const std::byte> weights, std::span<const float> x,
                std::span<float> out);

 private:
  // As in ggml-cpu.h.
  using FromFloat = void (*)(const float* x, void* y, int64_t count);
  using VecDot = void (*)(int count, float* out, size_t, const void* weights, size_t, const void* x, size_t, int rows);
  struct Traits {
    FromFloat from_float;
    VecDot vec_dot;
    int vec_dot_type;
    int64_t rows;
  };

  const Traits* (*traits_)(int type) = nullptr;
  size_t (*row_size_)(int type, int64_t count) = nullptr;
  const char* (*type_name_)(int type) = nullptr;
  terrace::ThreadTeam team_;
  std::vector<std::byte> quantized_;
};
