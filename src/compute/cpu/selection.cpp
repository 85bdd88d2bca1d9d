// Block selection: pooled keys of blocks of positions, and the best blocks for each row.
#include <algorithm>
#include <numeric>

#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/rotation.h"
#include "compute/cpu/tiles.h"

namespace terrace::compute {
namespace {

float* pooled_keys(const BlockIndex& index, const RowSpan& span, size_t page) {
  return reinterpret_cast<float*>(span.pages[page] + index.page_offset);
}

}  // namespace

/// Adds the keys of a span's rows to the open block in position order; complete blocks go to the pages.
void CpuBackend::index_keys(const BlockIndex& index, const RowSpan& span) {
  auto* sum = reinterpret_cast<float*>(span.state + index.state_offset);
  float key[kMaximumIndexSize], turns[kMaximumIndexSize];
  for (size_t r = 0; r < span.rows; ++r) {
    const size_t position = static_cast<size_t>(span.first_position) + r, place = position % index.ratio;
    const float* raw = index.keys.row(span.first_row + r);
    if (place == 0)
      std::copy_n(raw, index.size, sum);
    else
      add_to(sum, raw, index.size);
    if (place + 1 < index.ratio) continue;
    for (size_t d = 0; d < index.size; ++d) key[d] = sum[d] / static_cast<float>(index.ratio);
    kernels_->rms_norm(key, index.key_norm.gain, index.size, index.key_norm.epsilon, key);
    make_turns(index.rope, position - place, turns);
    rotate(key, 1, index.size, index.pairs, std::span(turns, 2 * index.rope.frequencies.size()));
    const size_t block = position / index.ratio;
    float* to = pooled_keys(index, span, block / index.blocks_per_page()) + block % index.blocks_per_page();
    for (size_t d = 0; d < index.size; ++d) to[d * index.stride()] = key[d];
  }
}

void CpuBackend::select_for_row(const BlockIndex& index, const RowSpan& span, size_t r, const Selection& selection,
                                std::byte* scratch) {
  const size_t row = span.first_row + r, complete = (static_cast<size_t>(span.first_position) + r + 1) / index.ratio;
  if (complete <= selection.most) {
    selection.counts[row] = -1;
    return;
  }
  float* queries = index.queries.row(row);
  for (size_t head = 0; head < index.heads; ++head) {
    float* query = queries + head * index.size;
    kernels_->rms_norm(query, index.query_norm.gain, index.size, index.query_norm.epsilon, query);
  }
  rotate(queries, index.heads, index.size, index.pairs, std::span(index.turns.row(row), index.turns.width));
  const size_t per_page = index.blocks_per_page(), pages = (complete + per_page - 1) / per_page;
  auto* page_scores = reinterpret_cast<float*>(scratch);
  float* scores = page_scores + index.stride();
  auto* order = reinterpret_cast<int32_t*>(scores + pages * per_page);
  for (size_t page = 0; page < pages; ++page) {
    kernels_->score_blocks(queries, index.heads, index.size, pooled_keys(index, span, page), index.stride(),
                           page_scores);
    // NaN, which nothing can be ordered by, counts as the worst score.
    for (size_t i = 0; i < per_page; ++i) scores[page * per_page + i] = page_scores[i] >= 0 ? page_scores[i] : 0;
  }
  std::iota(order, order + complete, 0);
  std::nth_element(order, order + selection.most - 1, order + complete,
                   [&](int32_t a, int32_t b) { return scores[a] > scores[b] || (scores[a] == scores[b] && a < b); });
  std::sort(order, order + selection.most);
  std::copy_n(order, selection.most, selection.blocks + row * selection.most);
  selection.counts[row] = static_cast<int32_t>(selection.most);
}

void CpuBackend::select_blocks(const BlockIndex& index, std::span<const RowSpan> spans, const Selection& selection) {
  team_.for_each(spans.size(), 1, [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) index_keys(index, spans[i]);
  });
  for (const RowSpan& span : spans) {
    const size_t blocks = (static_cast<size_t>(span.first_position) + span.rows) / index.ratio;
    for (Buffer& buffer : scratch_)
      grown(buffer, (index.stride() + index.blocks_per_page() + 2 * (blocks + 1)) * sizeof(float));
    team_.for_pieces(span.rows, 1, [&](size_t member, size_t first, size_t last) {
      for (size_t r = first; r < last; ++r) select_for_row(index, span, r, selection, scratch_[member].data());
    });
  }
}

}  // namespace terrace::compute
