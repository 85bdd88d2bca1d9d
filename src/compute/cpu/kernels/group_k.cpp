// The K types: blocks of 256 values with packed scales and arithmetic codes.
#include TERRACE_SIMD
// The SIMD type comes first: everything else is written over it.
#include "compute/cpu/kernels/blocks/k_quants.inl.h"
#include "compute/cpu/kernels/dot.inl.h"
#include "compute/cpu/kernels/groups.h"

namespace {

// ggml's type codes; format/block_type.h has their names.
constexpr terrace::compute::BlockKernels kTypes[] = {
    block_kernels<Q2_KReader>(10), block_kernels<Q3_KReader>(11), block_kernels<Q4_KReader>(12),
    block_kernels<Q5_KReader>(13), block_kernels<Q6_KReader>(14),
};

}  // namespace

namespace terrace::compute::TERRACE_ISA {
const BlockKernelGroup kKTypes = group_of(kTypes);
}
