#include "tools/residual_readers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "format/encode.h"
#include "tools/progress.h"

namespace terrace::tools {
namespace {

using format::GgufFile;
using format::GgufTensor;

/// So many rows tell the moments well enough, and leave the time to the encoders.
constexpr uint64_t kRows = 256;

/// The moments of wider streams would take more than a gigabyte.
constexpr size_t kMostColumns = 16384;

constexpr std::string_view kOfMixers[] = {"attn_q.weight",           "attn_k.weight",    "attn_v.weight",
                                          "attn_qkv.weight",         "attn_gate.weight", "ssm_in.weight",
                                          "shortconv.in_proj.weight"};
constexpr std::string_view kOfFeedForward[] = {
    "ffn_gate.weight",      "ffn_up.weight",      "ffn_gate_shexp.weight",  "ffn_up_shexp.weight",
    "ffn_gate_exps.weight", "ffn_up_exps.weight", "ffn_gate_up_exps.weight"};
/// Where a block has both, the first is what its feed-forward part reads through.
constexpr std::string_view kMixerNorms[] = {"attn_norm.weight"};
constexpr std::string_view kFeedForwardNorms[] = {"ffn_norm.weight", "post_attention_norm.weight"};

std::vector<float> decoded(const GgufTensor& tensor, uint64_t row, size_t columns) {
  const format::BlockType& type = *format::find_block_type(tensor.type);
  std::vector<float> values(columns);
  format::decode_values(type, tensor.data.data() + row * (columns / type.values * type.bytes), columns, values.data());
  return values;
}

bool is_readable(const GgufTensor& tensor) {
  const format::BlockType* type = format::find_block_type(tensor.type);
  return type && type->codec && tensor.elements() > 0;
}

/// The gain of the norm through which a block reads, or ones.
std::vector<float> gain_of(const GgufFile& file, const std::string& block, std::span<const std::string_view> norms,
                           size_t columns) {
  for (const std::string_view norm : norms) {
    const GgufTensor* tensor = file.find(block + std::string(norm));
    if (tensor && tensor->elements() == columns && is_readable(*tensor)) return decoded(*tensor, 0, columns);
  }
  return std::vector<float>(columns, 1.0F);
}

/// Adds W^T W of some rows, scaled to a mean of 1 on the diagonal.
void add_rows(const GgufTensor& tensor, std::span<const float> gain, ThreadTeam& team, std::vector<float>& moments) {
  const size_t columns = gain.size();
  const uint64_t rows = tensor.elements() / columns, taken = std::min(rows, kRows);
  std::vector<float> some;
  some.reserve(taken * columns);
  for (uint64_t r = 0; r < taken; ++r) {
    const std::vector<float> row = decoded(tensor, r * rows / taken, columns);
    std::transform(row.begin(), row.end(), gain.begin(), std::back_inserter(some), std::multiplies());
  }
  const double size = std::inner_product(some.begin(), some.end(), some.begin(), 0.0);
  if (!(size > 0) || !std::isfinite(size)) return;
  const auto scale = static_cast<float>(static_cast<double>(columns) / size);
  team.for_each(columns, 16, [&](size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      float* sums = &moments[i * columns];
      for (const float* row = some.data(); row < some.data() + some.size(); row += columns) {
        const float factor = scale * row[i];
        for (size_t j = 0; j < columns; ++j) sums[j] += factor * row[j];
      }
    }
  });
}

}  // namespace

Result<std::vector<float>> moments_of_readers(const GgufFile& file, size_t columns, ThreadTeam& team,
                                              const std::function<bool()>& go_on) {
  if (columns > kMostColumns) return std::vector<float>();
  std::vector<float> moments;
  const auto add = [&](const std::string& block, auto& names, auto& norms) -> Status {
    std::vector<float> gain;
    for (const std::string_view name : names) {
      const GgufTensor* tensor = file.find(block + std::string(name));
      if (!tensor || tensor->shape[0] != columns || !is_readable(*tensor)) continue;
      if (!go_on()) return fail("{}", kInterrupted);
      if (gain.empty()) gain = gain_of(file, block, norms, columns);
      moments.resize(columns * columns);
      add_rows(*tensor, gain, team, moments);
    }
    return Done{};
  };
  const auto architecture = file.metadata().string_or("general.architecture", "");
  const auto blocks = file.metadata().integer_or((architecture ? *architecture : "") + ".block_count", 0);
  const auto layers = std::min<uint64_t>(blocks ? *blocks : 0, file.tensors().size());
  for (uint64_t layer = 0; layer < layers; ++layer) {
    const std::string block = "blk." + std::to_string(layer) + ".";
    TERRACE_CHECK(add(block, kOfMixers, kMixerNorms));
    TERRACE_CHECK(add(block, kOfFeedForward, kFeedForwardNorms));
  }
  // Measured, predictions depend on the directions a little more evenly than the readers' moments say.
  constexpr float kEven = 0.25F;
  double trace = 0;
  for (size_t i = 0; i < moments.size(); i += columns + 1) trace += moments[i];
  if (!(trace > 0)) return std::vector<float>();
  for (size_t i = 0; i < moments.size(); i += columns + 1)
    moments[i] += kEven * static_cast<float>(trace / static_cast<double>(columns));
  return moments;
}

}  // namespace terrace::tools
