// Rows of several residual streams side by side.
#include <cmath>

#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/tiles.h"

namespace terrace::compute {

namespace {
constexpr size_t kGrain = 4;  // rows per piece of work
}

void CpuBackend::mix_streams(Rows streams, const Norm& norm, Rows mix, Rows out) {
  for (Buffer& buffer : scratch_) grown(buffer, streams.width * sizeof(float));
  team_.for_pieces(streams.count, kGrain, [&](size_t member, size_t first, size_t last) {
    auto* normed = scratch_[member].as<float>();
    for (size_t r = first; r < last; ++r) {
      normalize_row(streams.row(r), streams.width, norm, normed);
      kernels_->mix_streams(normed, mix.row(r), streams.width / out.width, out.width, out.row(r));
    }
  });
}

void CpuBackend::inject(Rows x, Rows amounts, float scale, Rows streams) {
  team_.for_each(x.count, kGrain, [&](size_t first, size_t last) {
    for (size_t r = first; r < last; ++r) {
      for (size_t stream = 0; stream < amounts.width; ++stream)
        kernels_->add_scaled(x.row(r), scale * amounts.row(r)[stream], x.width, streams.row(r) + stream * x.width);
    }
  });
}

void CpuBackend::gate_streams(Rows keys, const Norm& key_norm, Rows streams, const Norm& stream_norm, Rows values,
                              Rows out) {
  const size_t width = streams.width, size = values.width;
  const float scale = 1.0F / std::sqrt(static_cast<float>(size));
  for (Buffer& buffer : scratch_) grown(buffer, 2 * width * sizeof(float));
  team_.for_pieces(streams.count, kGrain, [&](size_t member, size_t first, size_t last) {
    auto *normed_keys = scratch_[member].as<float>(), *normed_streams = normed_keys + width;
    for (size_t r = first; r < last; ++r) {
      normalize_row(keys.row(r), width, key_norm, normed_keys);
      normalize_row(streams.row(r), width, stream_norm, normed_streams);
      for (size_t i = 0; i < width; i += size) {
        const float product = kernels_->dot(normed_keys + i, normed_streams + i, size) * scale;
        float gate = std::copysign(std::sqrt(std::max(std::fabs(product), 1e-6F)), product);
        if (product == 0) gate = 0;
        kernels_->activate(Activation::sigmoid, &gate, 1);
        const float* value = values.row(r);
        kernels_->combine(&value, &gate, 1, size, 1, /*accumulate=*/false, out.row(r) + i);
      }
    }
  });
}

}  // namespace terrace::compute
