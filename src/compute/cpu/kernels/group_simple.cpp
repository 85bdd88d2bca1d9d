// Float types and types with blocks of 32 values.
#include TERRACE_SIMD
// The SIMD type comes first: everything else is written over it.
#include "compute/cpu/kernels/blocks/legacy.inl.h"
#include "compute/cpu/kernels/dot.inl.h"
#include "compute/cpu/kernels/dot_plain.inl.h"
#include "compute/cpu/kernels/groups.h"

namespace {

// ggml's type codes; format/block_type.h has their names.
constexpr terrace::compute::BlockKernels kTypes[] = {
    float_kernels<float>(0),      float_kernels<Half>(1),       block_kernels<Q4_0Reader>(2),
    block_kernels<Q4_1Reader>(3), block_kernels<Q5_0Reader>(6), block_kernels<Q5_1Reader>(7),
    block_kernels<Q8_0Reader>(8), float_kernels<Bf16>(30),
};

}  // namespace

namespace terrace::compute::TERRACE_ISA {
const BlockKernelGroup kSimpleTypes = group_of(kTypes);
}
