// F32, F16, BF16: one value per block. A panel holds the 16 rows' values of one input side by side.
#include "format/blocks/blocks.h"

namespace terrace::format {
namespace {

template <class Word>
void pack_values(const std::byte* const (&rows)[kPanelRows], std::byte* panel) {
  for (size_t lane = 0; lane < kPanelRows; ++lane) std::memcpy(panel + sizeof(Word) * lane, rows[lane], sizeof(Word));
}

/// A uniform value of the given deviation from 16 random bits.
float uniform(uint16_t random, float deviation) {
  return (static_cast<float>(random) / 32768.0F - 1.0F) * 1.732F * deviation;
}

}  // namespace

const BlockCodec kF32Codec = {
    [](const std::byte* block, float* values) { *values = load<float>(block); }, 4 * kPanelRows, pack_values<uint32_t>,
    [](std::byte* block, float deviation) { store(block, uniform(load<uint16_t>(block), deviation)); },
    [](const float* values, const float*, std::byte* block) { store(block, *values); }};
const BlockCodec kF16Codec = {
    [](const std::byte* block, float* values) { *values = half_to_float(load<uint16_t>(block)); }, 2 * kPanelRows,
    pack_values<uint16_t>,
    [](std::byte* block, float deviation) { store(block, float_to_half(uniform(load<uint16_t>(block), deviation))); },
    [](const float* values, const float*, std::byte* block) { store(block, float_to_half(*values)); }};
const BlockCodec kBf16Codec = {
    [](const std::byte* block, float* values) { *values = bf16_to_float(load<uint16_t>(block)); }, 2 * kPanelRows,
    pack_values<uint16_t>,
    [](std::byte* block, float deviation) { store(block, float_to_bf16(uniform(load<uint16_t>(block), deviation))); },
    [](const float* values, const float*, std::byte* block) { store(block, float_to_bf16(*values)); }};

}  // namespace terrace::format
