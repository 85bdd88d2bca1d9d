// The groups of block types. Per instruction set, each group is one translation unit (group_*.cpp), compiled with
// TERRACE_ISA as the namespace that keeps the sets apart and TERRACE_SIMD as the header of the SIMD type.
#pragma once

#include "compute/cpu/kernels/kernels.h"

namespace terrace::compute::TERRACE_ISA {

extern const BlockKernelGroup kSimpleTypes, kKTypes, kLevelTypes, kCodebookTypes, kTerraceTypes;

template <size_t Count>
constexpr BlockKernelGroup group_of(const BlockKernels (&types)[Count]) {
  return {Count, types};
}

}  // namespace terrace::compute::TERRACE_ISA
