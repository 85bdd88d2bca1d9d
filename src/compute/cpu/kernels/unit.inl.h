// What a kernel unit defines: its table, from the SIMD type that the unit included before this file.
#pragma once

#include "compute/cpu/kernels/attention.inl.h"
#include "compute/cpu/kernels/groups.h"
#include "compute/cpu/kernels/recurrent.inl.h"
#include "compute/cpu/kernels/streams.inl.h"

namespace {

using terrace::compute::BlockKernelGroup;
using terrace::compute::Kernels;
using namespace terrace::compute::TERRACE_ISA;  // NOLINT(google-build-using-namespace): this unit's own

constexpr const BlockKernelGroup* kBlockKernels[] = {&kSimpleTypes, &kKTypes, &kLevelTypes, &kCodebookTypes,
                                                     &kTerraceTypes};

template <size_t Streams>
Simd::I read_streams(const std::byte* data, size_t bytes, size_t prefetch) {
  const size_t stream = bytes / Streams / 256 * 256;
  Simd::I sum[Streams];
  for (auto& s : sum) s = Simd::iset1(0);
  for (size_t i = 0; i < stream; i += 256) {
    for (size_t s = 0; s < Streams; ++s) {
      const std::byte* at = data + s * stream + i;
      if (prefetch > 0) {
        for (size_t line = 0; line < 256; line += 64) __builtin_prefetch(at + prefetch + line);
      }
      for (size_t j = 0; j < 256; j += 4 * Simd::lanes) sum[s] = Simd::ior(sum[s], Simd::words(at + j));
    }
  }
  for (size_t s = 1; s < Streams; ++s) sum[0] = Simd::ior(sum[0], sum[s]);
  return sum[0];
}

uint64_t read_bytes(const std::byte* data, size_t bytes, size_t streams, size_t prefetch) {
  const Simd::I all = streams == 1 ? read_streams<1>(data, bytes, prefetch) : read_streams<4>(data, bytes, prefetch);
  float out[Simd::lanes];
  Simd::store(out, Simd::to_float(all));
  return out[0] > 0 ? 1 : 0;
}

/// Dot products of registers with registers: eight independent chains per round, nothing to unpack, nothing to scale.
uint64_t integer_dots(size_t rounds) {
  int8_t x[32];
  for (int i = 0; i < 32; ++i) x[i] = static_cast<int8_t>(i + 1);
  Simd::I sum[8], codes[15];
  for (int i = 0; i < 8; ++i) sum[i] = Simd::iset1(0);
  for (int i = 0; i < 15; ++i) codes[i] = Simd::iset1(0x01020304 * (i & 3));
  for (size_t round = 0; round < rounds; ++round) {
    // Each chain has codes of its own that change from round to round, for all that the compiler knows: it would
    // compute once what chains or rounds have in common.
    __asm__ volatile("" : "+m"(codes));
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) sum[i] = Simd::dot<15, 8>(codes + i, x, sum[i]);
#pragma GCC unroll 8
    for (int i = 0; i < 8; ++i) __asm__ volatile("" : "+m"(sum[i]));
  }
  return rounds * 8 * 8 * Simd::lanes * 4 * 2;
}

constexpr Kernels make_kernels(const char* name) {
  return {name,
          sizeof kBlockKernels / sizeof *kBlockKernels,
          kBlockKernels,
          quantize,
          rms_norm,
          gate,
          attention<Half>,
          attention<float>,
          attention_part<Half>,
          attention_part<float>,
          merge_attention,
          to_half,
          read_bytes,
          integer_dots,
          activate,
          soft_cap,
          add_scaled,
          combine,
          softmax,
          convolve,
          delta_rule,
          state_space,
          mix_streams,
          dot,
          score_blocks};
}

}  // namespace
