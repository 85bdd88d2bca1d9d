// Types with codes of one or two bits, and with 4-bit codes into a list of levels.
#include TERRACE_SIMD
// The SIMD type comes first: everything else is written over it.
#include "compute/cpu/kernels/blocks/levels.inl.h"
#include "compute/cpu/kernels/blocks/small.inl.h"
#include "compute/cpu/kernels/dot.inl.h"
#include "compute/cpu/kernels/groups.h"

namespace {

// ggml's type codes; format/block_type.h has their names.
constexpr terrace::compute::BlockKernels kTypes[] = {
    block_kernels<IQ4_NLReader>(20), block_kernels<IQ4_XSReader>(23), block_kernels<TQ1_0Reader>(34),
    block_kernels<TQ2_0Reader>(35),  block_kernels<MXFP4Reader>(39),  block_kernels<NVFP4Reader>(40),
    block_kernels<Q1_0Reader>(41),   block_kernels<Q2_0Reader>(42),
};

}  // namespace

namespace terrace::compute::TERRACE_ISA {
const BlockKernelGroup kLevelTypes = group_of(kTypes);
}
