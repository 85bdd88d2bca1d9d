// Placing matrices: from the file's rows to panels, in parallel.
#include <algorithm>

#include "compute/cpu/cpu_backend.h"
#include "format/block_type.h"

namespace terrace::compute {
namespace {

static_assert(format::kPanelRows == kPanel);

/// Packs panels first..last. Rows past the end of the matrix are zero blocks, whose values are zero in every type.
void pack_panels(const MatrixView& view, const format::BlockType& type, const CpuMatrix& matrix, size_t first,
                 size_t last) {
  static constexpr std::byte zeros[512] = {};
  const size_t blocks = view.inputs / type.values, row_bytes = blocks * type.bytes;
  for (size_t panel = first; panel < last; ++panel) {
    std::byte* out = matrix.panel(panel);
    for (size_t block = 0; block < blocks; ++block, out += type.codec->panel_bytes) {
      const std::byte* rows[kPanel];
      for (size_t lane = 0; lane < kPanel; ++lane) {
        const size_t row = panel * kPanel + lane;
        rows[lane] = row < view.rows ? view.data.data() + row * row_bytes + block * type.bytes : zeros;
      }
      type.codec->pack(rows, out);
    }
  }
}

// What is left at the end of a slab is lost, so slabs are large, but no larger than what came before them.
constexpr size_t kSmallestSlab = size_t{8} << 20, kLargestSlab = size_t{128} << 20, kLargestShared = size_t{32} << 20;

}  // namespace

std::shared_ptr<std::byte> WeightMemory::allocate(size_t bytes) {
  bytes = (bytes + 63) / 64 * 64;
  if (bytes > kLargestShared) {
    auto own = std::make_shared<Buffer>(bytes, Purpose::weights);
    return {own, own->data()};
  }
  if (!slab_ || used_ + bytes > slab_->size()) {
    const size_t size = std::max(bytes, std::clamp(all_slabs_, kSmallestSlab, kLargestSlab));
    slab_ = std::make_shared<Buffer>(size, Purpose::weights);
    all_slabs_ += size;
    used_ = 0;
  }
  used_ += bytes;
  return {slab_, slab_->data() + used_ - bytes};
}

std::unique_ptr<Matrix> CpuBackend::place(const MatrixView& view) {
  const format::BlockType* type = format::find_block_type(view.type);
  const BlockKernels* kernels = kernels_->find(view.type);
  if (!type || !type->codec || !kernels || view.inputs % type->values != 0) return nullptr;
  const size_t panel_bytes = view.inputs / type->values * type->codec->panel_bytes;
  auto matrix = std::make_unique<CpuMatrix>(view, panel_bytes, kernels, weights_);
  const size_t grain =
      std::clamp<size_t>((size_t{1} << 20) / matrix->panel_bytes(), 1, matrix->panels() / (2 * team_.size()) + 1);
  team_.for_each(matrix->panels(), grain,
                 [&](size_t first, size_t last) { pack_panels(view, *type, *matrix, first, last); });
  return matrix;
}

}  // namespace terrace::compute
