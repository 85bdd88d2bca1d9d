#include "compute/cpu/kernels/simd_scalar.h"
// The SIMD type comes first: everything else is written over it.
#include "compute/cpu/kernels/unit.inl.h"

namespace terrace::compute {
const Kernels kScalarKernels = make_kernels("scalar");
}
