// Types whose codes are entries of a codebook.
#include TERRACE_SIMD
// The SIMD type comes first: everything else is written over it.
#include "compute/cpu/kernels/blocks/codebooks.inl.h"
#include "compute/cpu/kernels/dot.inl.h"
#include "compute/cpu/kernels/groups.h"

namespace {

// ggml's type codes; format/block_type.h has their names.
constexpr terrace::compute::BlockKernels kTypes[] = {
    block_kernels<IQ2_XXSReader>(16), block_kernels<IQ2_XSReader>(17), block_kernels<IQ3_XXSReader>(18),
    block_kernels<IQ1_SReader>(19),   block_kernels<IQ3_SReader>(21),  block_kernels<IQ2_SReader>(22),
    block_kernels<IQ1_MReader>(29),
};

}  // namespace

namespace terrace::compute::TERRACE_ISA {
const BlockKernelGroup kCodebookTypes = group_of(kTypes);
}
