// What the processor and the operating system give this process.
#pragma once

#include <string>
#include <vector>

namespace terrace {

/// Instruction sets that change which kernels run, as the processor and the system support them.
struct CpuFeatures {
  bool avx2 = false;         ///< with FMA and F16C
  bool avx_vnni = false;     ///< 256-bit integer dot products beside AVX2
  bool avx512 = false;       ///< F, BW, DQ, VL
  bool avx512_vnni = false;  ///< 512-bit integer dot products
};
CpuFeatures cpu_features();

/// The processor's own name.
std::string cpu_name();

/// One logical processor per physical core among those that the process may use, no more than a cgroup's quota allows;
/// never empty.
std::vector<int> usable_cores();

}  // namespace terrace
