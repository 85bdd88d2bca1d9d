#include "compute/cpu/kernels/simd_avx2.h"
// The SIMD type comes first: everything else is written over it.
#include "compute/cpu/kernels/unit.inl.h"

namespace terrace::compute {
const Kernels kAvxVnniKernels = make_kernels("avxvnni");
}
