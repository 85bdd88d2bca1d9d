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

double CpuBackend::measure_read(std::span<const std::byte> data) {
  constexpr size_t piece = size_t{4} << 20;
  struct Way {
    size_t streams, prefetch;
  };
  constexpr Way ways[] = {{1, 0}, {4, 0}, {1, 1024}, {4, 512}};
  // Each way has its own part: what another way has just read lies in a cache.
  const size_t pieces = std::max<size_t>(1, data.size() / piece / std::size(ways));
  std::atomic<uint64_t> sink{0};  // keeps the reads from being optimised away
  double best = 0;
  for (const Way way : ways) {
    if (data.size() < pieces * piece) break;
    const double time = seconds([&] {
      team_.for_each(pieces, std::max<size_t>(1, pieces / (team_.size() * 8)), [&](size_t first, size_t last) {
        sink += kernels_->read(data.data() + first * piece, (last - first) * piece, way.streams, way.prefetch);
      });
    });
    best = std::max(best, static_cast<double>(pieces * piece) / time);
    data = data.subspan(pieces * piece);
  }
  return best;
}

double CpuBackend::measure_integer() {
  constexpr size_t rounds = 100000;
  std::atomic<uint64_t> operations{0};
  const double time = seconds([&] { team_.run([&](size_t) { operations += kernels_->integer_dots(rounds); }); });
  return static_cast<double>(operations) / time;
}

}  // namespace terrace::compute
