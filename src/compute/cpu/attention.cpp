// Attention over KV pages: turn and store the new rows, then attend tile by tile.
#include <algorithm>
#include <cstring>

#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/rotation.h"
#include "compute/cpu/tiles.h"

namespace terrace::compute {
namespace {

/// One position's keys go to a column of [key_size][64], its values to a row of [64][stride].
template <class Element>
void store_position(const KvLayer& layer, std::byte* page, size_t slot, const Element* keys, const Element* values) {
  for (size_t head = 0; head < layer.heads; ++head) {
    auto* key = reinterpret_cast<Element*>(page + layer.key_offset + head * layer.key_bytes());
    for (size_t d = 0; d < layer.key_size; ++d) key[d * kAttentionBlock + slot] = keys[head * layer.key_size + d];
    auto* value = reinterpret_cast<Element*>(page + layer.value_offset + head * layer.value_bytes());
    std::memcpy(value + slot * layer.value_stride(), values + head * layer.value_size,
                layer.value_size * sizeof(Element));
  }
}

constexpr size_t kOwnRows = 4;  // so few rows are turned and stored faster than the team wakes

}  // namespace

void CpuBackend::turns(const Rope& rope, std::span<const RowSpan> spans, Rows out) {
  for (const RowSpan& span : spans) {
    team_.for_each(span.rows, 16, [&](size_t first, size_t last) {
      for (size_t r = first; r < last; ++r)
        make_turns(rope, static_cast<size_t>(span.first_position) + r, out.row(span.first_row + r));
    });
  }
}

void CpuBackend::rotate_and_store(const Attention& attention, std::span<const RowSpan> spans) {
  const KvLayer& layer = *attention.kv;
  const size_t key_width = layer.heads * layer.key_size, value_width = layer.heads * layer.value_size;
  const size_t query_stride = layer.key_size + (attention.gated ? layer.value_size : 0);
  const auto norm_heads = [&](const std::optional<Norm>& norm, float* row, size_t heads, size_t size, size_t stride) {
    for (size_t head = 0; norm && head < heads; ++head)
      kernels_->rms_norm(row + head * stride, norm->gain, size, norm->epsilon, row + head * stride);
  };
  Rows all_values = attention.values;
  if (attention.keys.data && !all_values.data) {
    all_values = {nullptr, attention.keys.count, value_width, value_width};
    all_values.data = reinterpret_cast<float*>(grown(shared_scratch_, all_values.count * value_width * sizeof(float)));
  }
  const auto do_row = [&](const RowSpan& span, size_t r) {
    const size_t row = span.first_row + r;
    const auto position = static_cast<size_t>(span.first_position) + r;
    const std::span<const float> turns(attention.turns.row(row), attention.turns.width);
    float* queries = attention.queries.row(row);
    norm_heads(attention.query_norm, queries, attention.heads, layer.key_size, query_stride);
    rotate(queries, attention.heads, query_stride, attention.pairs, turns);
    if (!attention.keys.data) return;
    float *keys = attention.keys.row(row), *values = all_values.row(row);
    if (!attention.values.data) std::memcpy(values, keys, value_width * sizeof(float));
    norm_heads(attention.value_norm, values, layer.heads, layer.value_size, layer.value_size);
    norm_heads(attention.key_norm, keys, layer.heads, layer.key_size, layer.key_size);
    rotate(keys, layer.heads, layer.key_size, attention.pairs, turns);
    std::byte* page = span.pages[position / kAttentionBlock];
    if (!layer.half) return store_position<float>(layer, page, position % kAttentionBlock, keys, values);
    // The rows themselves hold the halves on their way: what follows needs only the pages.
    auto* half_keys = reinterpret_cast<uint16_t*>(keys);
    auto* half_values = reinterpret_cast<uint16_t*>(values);
    kernels_->to_half(keys, key_width, half_keys);
    kernels_->to_half(values, value_width, half_values);
    store_position<uint16_t>(layer, page, position % kAttentionBlock, half_keys, half_values);
  };
  for (const RowSpan& span : spans) {
    const auto rows = [&](size_t first, size_t last) {
      for (size_t r = first; r < last; ++r) do_row(span, r);
    };
    if (span.rows <= kOwnRows)
      rows(0, span.rows);
    else
      team_.for_each(span.rows, 4, rows);
  }
}

namespace {

/// Queries that share a key/value head, as the kernels take them.
class QueryList {
 public:
  /// Head `head` of a row, which sees the positions low..last.
  void add(const Attention& attention, size_t row, size_t head, int32_t low, int32_t last) {
    const KvLayer& layer = *attention.kv;
    const size_t stride = layer.key_size + (attention.gated ? layer.value_size : 0);
    queries_[count_] = attention.queries.row(row) + head * stride;
    gates_[count_] = queries_[count_] + layer.key_size;
    if (attention.sinks) sinks_[count_] = attention.sinks[head];
    outputs_[count_] = attention.out.row(row) + head * layer.value_size;
    first_[count_] = low;
    last_[count_] = last;
    ++count_;
  }
  /// The task over pages that hold the head's keys and values at the given offsets; it points into this list.
  AttentionTask task(const Attention& attention, const std::byte* const* pages, size_t key_offset,
                     size_t value_offset) const {
    const KvLayer& layer = *attention.kv;
    return {queries_,
            outputs_,
            last_,
            first_,
            count_,
            pages,
            key_offset,
            value_offset,
            layer.key_size,
            layer.value_size,
            layer.value_stride(),
            attention.scale,
            attention.gated ? gates_ : nullptr,
            attention.sinks ? sinks_ : nullptr};
  }

 private:
  size_t count_ = 0;
  const float *queries_[kQueryTask], *gates_[kQueryTask];
  float *outputs_[kQueryTask], sinks_[kQueryTask];
  int32_t first_[kQueryTask], last_[kQueryTask];
};

}  // namespace

/// The queries of a span's rows at one key/value head, from the `first` on.
struct QueryRun {
  const RowSpan* span;
  size_t head, first, count;
};

namespace {

void fill(const Attention& attention, const QueryRun& run, QueryList& list) {
  const size_t group = attention.heads / attention.kv->heads;
  for (size_t i = run.first; i < run.first + run.count; ++i) {
    const int32_t last = run.span->first_position + static_cast<int32_t>(i / group);
    const int32_t low = attention.window > 0 ? std::max(0, last - attention.window + 1) : 0;
    list.add(attention, run.span->first_row + i / group, run.head * group + i % group, low, last);
  }
}

AttentionTask task_of(const Attention& attention, const QueryRun& run, const QueryList& list) {
  const KvLayer& layer = *attention.kv;
  return list.task(attention, run.span->pages, layer.key_offset + run.head * layer.key_bytes(),
                   layer.value_offset + run.head * layer.value_bytes());
}

/// The runs of one task each. A head's keys and values are read once per task, so it takes all the queries it can, as
/// long as there are enough tasks for the members.
std::vector<QueryRun> query_runs(const Attention& attention, std::span<const RowSpan> spans, size_t members) {
  const KvLayer& layer = *attention.kv;
  const size_t group = attention.heads / layer.heads;
  size_t queries = 0;
  for (const RowSpan& span : spans) queries += span.rows * attention.heads;
  const size_t size = std::clamp(queries / (members * 4), std::min(group, kQueryTask), kQueryTask);
  std::vector<QueryRun> runs;
  for (const RowSpan& span : spans) {
    for (size_t first = 0; first < span.rows * group; first += size) {
      for (size_t head = 0; head < layer.heads; ++head)
        runs.push_back({&span, head, first, std::min(size, span.rows * group - first)});
    }
  }
  std::reverse(runs.begin(), runs.end());  // the last rows of a span see the most positions, so they go first
  return runs;
}

constexpr size_t kSplitPages = 4;                     // fewer are not worth a further wait for the team
constexpr size_t kPartialFloats = size_t{256} << 10;  // the partials of one round

}  // namespace

/// Whether some members would wait long for others, because there are few tasks.
bool CpuBackend::worth_splitting(const Attention& attention, std::span<const QueryRun> runs) const {
  const size_t members = team_.size(), rounds = (runs.size() + members - 1) / members;
  const bool uneven = rounds * members * 7 > runs.size() * 8;
  if (!uneven || runs.size() >= 4 * members) return false;
  size_t most = 0;  // positions
  for (const QueryRun& run : runs)
    most = std::max(most, static_cast<size_t>(run.span->first_position) + run.span->rows);
  if (attention.window > 0) most = std::min(most, static_cast<size_t>(attention.window));
  return most >= kSplitPages * kAttentionBlock;
}

void CpuBackend::attend(const Attention& attention, std::span<const RowSpan> spans) {
  const std::vector<QueryRun> runs = query_runs(attention, spans, team_.size());
  if (runs.empty()) return;
  if (worth_splitting(attention, runs)) return attend_in_parts(attention, runs);
  team_.for_each(runs.size(), 1, [&](size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      QueryList list;
      fill(attention, runs[i], list);
      const AttentionTask task = task_of(attention, runs[i], list);
      (attention.kv->half ? kernels_->attention_f16 : kernels_->attention_f32)(task);
    }
  });
}

/// The pages of each task go to several members, whose partials are then merged in order: the same bits.
void CpuBackend::attend_in_parts(const Attention& attention, std::span<const QueryRun> runs) {
  const size_t count = runs.size();
  std::vector<QueryList> lists(count);
  std::vector<AttentionTask> tasks;
  std::vector<AttentionPart> pages;
  size_t states = 0, page_floats = 0, longest = 0;
  for (size_t t = 0; t < count; ++t) {
    fill(attention, runs[t], lists[t]);
    tasks.push_back(task_of(attention, runs[t], lists[t]));
    pages.push_back(visible_pages(tasks[t]));
    states = std::max(states, state_floats(tasks[t]));
    page_floats = std::max(page_floats, tasks[t].count * partial_floats(tasks[t]));
    longest = std::max(longest, static_cast<size_t>(pages[t].last - pages[t].first + 1));
  }
  const size_t window = std::min(longest, std::max(kSplitPages, kPartialFloats / (count * page_floats)));
  const size_t step = std::max<size_t>(1, window * count / (4 * team_.size()));
  auto* state =
      reinterpret_cast<float*>(grown(shared_scratch_, count * (states + window * page_floats) * sizeof(float)));
  float* partials = state + count * states;
  // A task's pages from an offset on, as many as there are.
  const auto part_at = [&](size_t t, size_t offset, size_t most) {
    const int32_t first = pages[t].first + static_cast<int32_t>(offset);
    return AttentionPart{first, std::min(pages[t].last, first + static_cast<int32_t>(most) - 1)};
  };
  const size_t pieces = (window + step - 1) / step;
  for (size_t offset = 0; offset < longest; offset += window) {
    team_.for_each(pieces * count, 1, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) {
        const size_t t = i % count, piece = i / count * step;
        float* const to = partials + t * window * page_floats + piece * tasks[t].count * partial_floats(tasks[t]);
        const AttentionPart part = part_at(t, offset + piece, std::min(step, window - piece));
        if (part.first > part.last) continue;
        (attention.kv->half ? kernels_->attention_part_f16 : kernels_->attention_part_f32)(tasks[t], part, to);
      }
    });
    team_.for_each(count, 1, [&](size_t begin, size_t end) {
      for (size_t t = begin; t < end; ++t) {
        const AttentionPart part = part_at(t, offset, window);
        if (part.first <= part.last)
          kernels_->merge_attention(tasks[t], part, partials + t * window * page_floats, state + t * states);
      }
    });
  }
}

namespace {

/// The positions that a row attends to: the selected blocks, then what follows the last complete block.
void selected_positions(const Selection& selection, size_t row, size_t position, std::vector<size_t>& positions) {
  positions.clear();
  for (int32_t i = 0; i < selection.counts[row]; ++i) {
    const auto block = static_cast<size_t>(selection.blocks[row * selection.most + static_cast<size_t>(i)]);
    for (size_t j = 0; j < selection.ratio; ++j) positions.push_back(block * selection.ratio + j);
  }
  for (size_t p = (position + 1) / selection.ratio * selection.ratio; p <= position; ++p) positions.push_back(p);
}

/// Copies one head's keys and values of some positions into pages of their own, one after the other.
template <class Element>
void gather_positions(const KvLayer& layer, size_t head, std::byte* const* pages, std::span<const size_t> positions,
                      std::byte* out) {
  const size_t page_bytes = layer.key_bytes() + layer.value_bytes();
  std::memset(out, 0, (positions.size() + kAttentionBlock - 1) / kAttentionBlock * page_bytes);
  for (size_t i = 0; i < positions.size(); ++i) {
    const std::byte* page = pages[positions[i] / kAttentionBlock];
    const size_t from = positions[i] % kAttentionBlock, to = i % kAttentionBlock;
    std::byte* own = out + i / kAttentionBlock * page_bytes;
    const auto* keys = reinterpret_cast<const Element*>(page + layer.key_offset + head * layer.key_bytes());
    auto* own_keys = reinterpret_cast<Element*>(own);
    for (size_t d = 0; d < layer.key_size; ++d) own_keys[d * kAttentionBlock + to] = keys[d * kAttentionBlock + from];
    const size_t value_bytes = layer.value_stride() * sizeof(Element);
    std::memcpy(own + layer.key_bytes() + to * value_bytes,
                page + layer.value_offset + head * layer.value_bytes() + from * value_bytes, value_bytes);
  }
}

}  // namespace

/// One row and key/value head at a time: its keys and values are copied side by side, in position order, so that the
/// blocks of 64 are those of the list that the row sees.
void CpuBackend::attend_selected(const Attention& attention, std::span<const RowSpan> spans) {
  const KvLayer& layer = *attention.kv;
  const size_t group = attention.heads / layer.heads, page_bytes = layer.key_bytes() + layer.value_bytes();
  const size_t most = attention.selection->most * attention.selection->ratio + attention.selection->ratio;
  const size_t pages = (most + kAttentionBlock - 1) / kAttentionBlock;
  for (Buffer& buffer : scratch_) grown(buffer, pages * page_bytes);
  const auto do_head = [&](const RowSpan& span, size_t r, size_t head, std::byte* scratch) {
    const size_t row = span.first_row + r;
    std::vector<size_t> positions;
    selected_positions(*attention.selection, row, static_cast<size_t>(span.first_position) + r, positions);
    if (layer.half)
      gather_positions<uint16_t>(layer, head, span.pages, positions, scratch);
    else
      gather_positions<float>(layer, head, span.pages, positions, scratch);
    std::vector<const std::byte*> own(pages);
    for (size_t i = 0; i < pages; ++i) own[i] = scratch + i * page_bytes;
    for (size_t first = 0; first < group; first += kQueryTask) {
      QueryList queries;
      for (size_t i = first; i < std::min(first + kQueryTask, group); ++i)
        queries.add(attention, row, head * group + i, 0, static_cast<int32_t>(positions.size()) - 1);
      const AttentionTask task = queries.task(attention, own.data(), 0, layer.key_bytes());
      (layer.half ? kernels_->attention_f16 : kernels_->attention_f32)(task);
    }
  };
  for (const RowSpan& span : spans) {
    team_.for_pieces(span.rows * layer.heads, 1, [&](size_t member, size_t first, size_t last) {
      for (size_t i = first; i < last; ++i) do_head(span, i / layer.heads, i % layer.heads, scratch_[member].data());
    });
  }
}

void CpuBackend::attention(const Attention& attention, std::span<const RowSpan> spans) {
  rotate_and_store(attention, spans);
  if (!attention.selection) return attend(attention, spans);
  // Rows see all positions until there are more blocks than may be selected.
  std::vector<RowSpan> all, selected;
  for (const RowSpan& span : spans) {
    size_t first = 0;
    while (first < span.rows && attention.selection->counts[span.first_row + first] < 0) ++first;
    if (first > 0) all.push_back({span.first_row, first, span.first_position, span.pages, span.state});
    if (first < span.rows) {
      selected.push_back({span.first_row + first, span.rows - first, span.first_position + static_cast<int32_t>(first),
                          span.pages, span.state});
    }
  }
  attend(attention, all);
  attend_selected(attention, selected);
}

}  // namespace terrace::compute
