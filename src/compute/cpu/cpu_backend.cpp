#include "compute/cpu/cpu_backend.h"

#include <algorithm>
#include <cstring>

#include "base/cpu.h"
#include "compute/cpu/tiles.h"

namespace terrace::compute {

std::vector<const Kernels*> usable_kernels() {
  const CpuFeatures features = cpu_features();
  std::vector<const Kernels*> usable;
  if (features.avx512_vnni) usable.push_back(&kAvx512VnniKernels);
  if (features.avx512) usable.push_back(&kAvx512Kernels);
  if (features.avx_vnni) usable.push_back(&kAvxVnniKernels);
  if (features.avx2) usable.push_back(&kAvx2Kernels);
  usable.push_back(&kScalarKernels);
  return usable;
}

Result<std::unique_ptr<CpuBackend>> CpuBackend::create(const CpuOptions& options) {
  const auto usable = usable_kernels();
  const auto chosen = options.isa == "auto" ? usable.begin()
                                            : std::find_if(usable.begin(), usable.end(),
                                                           [&](const Kernels* k) { return k->name == options.isa; });
  if (chosen == usable.end()) {
    std::string names;
    for (const Kernels* k : usable) names += std::string(names.empty() ? "" : ", ") + k->name;
    return fail("the instruction set '{}' is unknown or not on this processor; here are: auto, {}", options.isa, names);
  }
  if (options.threads > 1024) return fail("{} threads are too many (at most 1024)", options.threads);
  const size_t threads = options.threads > 0 ? options.threads : usable_cores().size();
  return std::unique_ptr<CpuBackend>(new CpuBackend(options, *chosen, threads));
}

CpuBackend::CpuBackend(const CpuOptions& options, const Kernels* kernels, size_t threads)
    : kernels_(kernels),
      float_activations_(options.float_activations),
      team_(threads, usable_cores()),
      scratch_(threads),
      gathered_(threads) {}

void CpuBackend::embed(const Matrix& table, std::span<const int32_t> tokens, float scale, Rows out) {
  const auto& matrix = static_cast<const CpuMatrix&>(table);
  team_.for_each(tokens.size(), 8, [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      const auto token = static_cast<size_t>(tokens[i]);
      matrix.kernels->decode_lane(matrix.panel(token / kPanel), matrix.inputs(), token % kPanel, out.row(i));
      if (scale != 1) {
        for (size_t j = 0; j < out.width; ++j) out.row(i)[j] *= scale;
      }
    }
  });
}

void CpuBackend::normalize_row(const float* x, size_t width, const Norm& norm, float* out) const {
  const size_t size = width / norm.groups;
  for (size_t i = 0; i < width; i += size)
    kernels_->rms_norm(x + i, norm.gain ? norm.gain + i : nullptr, size, norm.epsilon, out + i);
}

void CpuBackend::normalize(Rows x, const Norm& norm, Rows out) {
  team_.for_each(x.count, 8, [&](size_t first, size_t last) {
    for (size_t r = first; r < last; ++r) normalize_row(x.row(r), x.width, norm, out.row(r));
  });
}

void CpuBackend::add(Rows x, const std::optional<Norm>& norm, float scale, Rows out) {
  if (norm) {
    for (Buffer& buffer : scratch_) grown(buffer, x.width * sizeof(float));
  }
  team_.for_pieces(x.count, 8, [&](size_t member, size_t first, size_t last) {
    for (size_t r = first; r < last; ++r) {
      const float* from = x.row(r);
      if (norm) {
        float* normed = scratch_[member].as<float>();
        normalize_row(from, x.width, *norm, normed);
        from = normed;
      }
      kernels_->add_scaled(from, scale, x.width, out.row(r));
    }
  });
}

void CpuBackend::scale(float factor, Rows x) {
  team_.for_each(x.count, 16, [&](size_t first, size_t last) {
    for (size_t r = first; r < last; ++r) {
      for (size_t i = 0; i < x.width; ++i) x.row(r)[i] *= factor;
    }
  });
}

void CpuBackend::gate(GateFunction function, Rows gates, Rows x, Rows out) {
  team_.for_each(x.count, 16, [&](size_t first, size_t last) {
    for (size_t r = first; r < last; ++r) kernels_->gate(function, gates.row(r), x.row(r), x.width, out.row(r));
  });
}

}  // namespace terrace::compute
