// Attention over KV pages: turn and store the new rows, then attend tile by tile.
#include <algorithm>
#include <cstring>

#include "compute/cpu/cpu_backend.h"
#include "compute/cpu/tiles.h"
#include "compute/rope.h"

namespace terrace::compute {
namespace {

/// Turns the rotated pairs of each head of a row, `stride` apart. `turns` holds cosine and sine per pair.
void rotate(float* row, size_t heads, size_t stride, RopePairs pairs, std::span<const float> turns) {
  const size_t count = turns.size() / 2;
  const size_t step = pairs == RopePairs::adjacent ? 2 : 1, distance = pairs == RopePairs::adjacent ? 1 : count;
  for (size_t head = 0; head < heads; ++head, row += stride) {
    for (size_t i = 0; i < count; ++i) {
      const float cos = turns[2 * i], sin = turns[2 * i + 1];
      float &a = row[step * i], &b = row[step * i + distance];
      const float turned = a * cos - b * sin;
      b = a * sin + b * cos;
      a = turned;
    }
  }
}

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
      for (size_t r = first; r < last; ++r) {
        const double position = span.first_position + static_cast<double>(r);
        float* turn = out.row(span.first_row + r);
        for (const float frequency : rope.frequencies) {
          const CosSin angle = cos_sin(position * double{frequency});
          *turn++ = static_cast<float>(angle.cos) * rope.magnitude;
          *turn++ = static_cast<float>(angle.sin) * rope.magnitude;
        }
      }
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

void CpuBackend::attend(const Attention& attention, std::span<const RowSpan> spans) {
  const KvLayer& layer = *attention.kv;
  const size_t group = attention.heads / layer.heads;
  const size_t query_stride = layer.key_size + (attention.gated ? layer.value_size : 0);
  size_t queries = 0;
  for (const RowSpan& span : spans) queries += span.rows * attention.heads;
  // Tiles share a head's keys; with few queries smaller tiles keep all members busy.
  const size_t tile = std::clamp<size_t>(queries / (team_.size() * 4), 1, kQueryTile);
  size_t items = 0;
  for (const RowSpan& span : spans) items += layer.heads * ((span.rows * group + tile - 1) / tile);
  const auto do_item = [&](const RowSpan& span, size_t head, size_t first) {
    const float* query[kQueryTile];
    float* out[kQueryTile];
    const float* gates[kQueryTile];
    float sinks[kQueryTile];
    int32_t low[kQueryTile], high[kQueryTile];
    const size_t count = std::min(tile, span.rows * group - first);
    for (size_t i = 0; i < count; ++i) {
      const size_t r = (first + i) / group, query_head = head * group + (first + i) % group;
      high[i] = span.first_position + static_cast<int32_t>(r);
      low[i] = attention.window > 0 ? std::max(0, high[i] - attention.window + 1) : 0;
      query[i] = attention.queries.row(span.first_row + r) + query_head * query_stride;
      gates[i] = query[i] + layer.key_size;
      if (attention.sinks) sinks[i] = attention.sinks[query_head];
      out[i] = attention.out.row(span.first_row + r) + query_head * layer.value_size;
    }
    const AttentionTask task{query,
                             out,
                             high,
                             low,
                             count,
                             span.pages,
                             layer.key_offset + head * layer.key_bytes(),
                             layer.value_offset + head * layer.value_bytes(),
                             layer.key_size,
                             layer.value_size,
                             layer.value_stride(),
                             attention.scale,
                             attention.gated ? gates : nullptr,
                             attention.sinks ? sinks : nullptr};
    (layer.half ? kernels_->attention_f16 : kernels_->attention_f32)(task);
  };
  // The last tiles of a span see the most positions, so they go first.
  team_.for_each(items, 1, [&](size_t begin, size_t end) {
    for (size_t item = begin; item < end; ++item) {
      size_t rest = items - 1 - item;
      for (const RowSpan& span : spans) {
        const size_t tiles = (span.rows * group + tile - 1) / tile;
        if (rest < tiles * layer.heads) {
          do_item(span, rest % layer.heads, rest / layer.heads * tile);
          break;
        }
        rest -= tiles * layer.heads;
      }
    }
  });
}

void CpuBackend::attention(const Attention& attention, std::span<const RowSpan> spans) {
  rotate_and_store(attention, spans);
  attend(attention, spans);
}

}  // namespace terrace::compute
