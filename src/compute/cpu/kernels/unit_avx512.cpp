#include "compute/cpu/kernels/simd_avx512.h"
// The SIMD type comes first: everything else is written over it.
#include "compute/cpu/kernels/unit.inl.h"

namespace terrace::compute {
const Kernels kAvx512Kernels = make_kernels("avx512");
}
