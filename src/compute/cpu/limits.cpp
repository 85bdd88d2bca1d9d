// The machine's limits as the team reaches them: bytes read per second and integer operations per second.
#include <algorithm>
#include <atomic>
#include <chrono>

#include "compute/cpu/cpu_backend.h"

namespace terrace::compute {
namespace {

template <class Work>
double seconds(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Limits CpuBackend::measure_limits(std::span<const std::byte> data) {
  constexpr size_t piece = size_t{1} << 20, rounds = 20000;
  std::atomic<uint64_t> sink{0};  // keeps the reads from being optimised away
  Limits limits;
  const size_t pieces = data.size() / piece;
  if (pieces > 0) {
    const double time = seconds([&] {
      team_.for_each(pieces, std::max<size_t>(1, pieces / (team_.size() * 8)), [&](size_t first, size_t last) {
        sink += kernels_->read(data.data() + first * piece, (last - first) * piece);
      });
    });
    limits.read_bytes_per_second = static_cast<double>(pieces * piece) / time;
  }
  std::atomic<uint64_t> operations{0};
  const double time = seconds([&] { team_.run([&](size_t) { operations += kernels_->integer_dots(rounds); }); });
  limits.integer_operations_per_second = static_cast<double>(operations) / time;
  return limits;
}

}  // namespace terrace::compute
