// Terrace's own types.
#include TERRACE_SIMD
// The SIMD type comes first: everything else is written over it.
#include "compute/cpu/kernels/blocks/terrace_types.inl.h"
#include "compute/cpu/kernels/dot.inl.h"
#include "compute/cpu/kernels/groups.h"

namespace {

// Type codes; format/block_type.h has their names.
constexpr terrace::compute::BlockKernels kTypes[] = {
    block_kernels<Linear4Reader<128>>(0x54520001), block_kernels<Linear8Reader<128>>(0x54520002),
    block_kernels<NF4CReader>(0x54520003),         block_kernels<Linear4Reader<256>>(0x54520004),
    block_kernels<Linear8Reader<256>>(0x54520005),
};

}  // namespace

namespace terrace::compute::TERRACE_ISA {
const BlockKernelGroup kTerraceTypes = group_of(kTypes);
}
