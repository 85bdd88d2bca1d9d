// Block types: how a run of weights is encoded in a file, and how 16 rows of it are laid out in a panel.
//
// A panel holds 16 output rows of a matrix, block by block in input order, one 32-bit lane per row: the file's block of
// each row is cut into 32-bit words, and word w of the 16 rows lies side by side (docs/kernels.md). Rows past the end
// of the matrix are zero blocks. A new type is one file in format/blocks and one in compute/cpu/kernels/blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace terrace::format {

constexpr size_t kPanelRows = 16;

/// ggml's type codes, as in GGUF files, and our own.
enum class TypeCode : uint32_t {
  f32 = 0,
  f16 = 1,
  q4_0 = 2,
  q4_1 = 3,
  q5_0 = 6,
  q5_1 = 7,
  q8_0 = 8,
  q2_k = 10,
  q3_k = 11,
  q4_k = 12,
  q5_k = 13,
  q6_k = 14,
  iq2_xxs = 16,
  iq2_xs = 17,
  iq3_xxs = 18,
  iq1_s = 19,
  iq4_nl = 20,
  iq3_s = 21,
  iq2_s = 22,
  iq4_xs = 23,
  iq1_m = 29,
  bf16 = 30,
  tq1_0 = 34,
  tq2_0 = 35,
  mxfp4 = 39,
  nvfp4 = 40,
  q1_0 = 41,
  q2_0 = 42,
  // Terrace's own, far from all that others may add ("TR" in the upper half).
  q4sg128 = 0x54520001,
  q8g128 = 0x54520002,
  nf4c = 0x54520003,
  q4c = 0x54520004,
  q8c = 0x54520005
};

constexpr bool is_own_type(uint32_t code) { return code >> 16 == 0x5452; }

/// What a code stands for, given the scales of its block: low + step * code.
struct Line {
  float step = 0, low = 0;
};

/// For types whose values are evenly spaced: how to change a block's codes under the scales it has.
struct UniformCodes {
  int last;  ///< codes are 0 .. last
  /// Fills in the line of each value of a block.
  void (*lines)(const std::byte* block, Line* of_value);
  /// Replaces all codes of a block.
  void (*store)(const uint8_t* codes, std::byte* block);
};

/// What a type's own file defines, for types whose values this build can use.
struct BlockCodec {
  /// Decodes one block to its `values` floats.
  void (*decode)(const std::byte* block, float* values);
  /// Bytes of one block of a panel.
  uint32_t panel_bytes;
  /// Lays the blocks of 16 rows out as one panel block.
  void (*pack)(const std::byte* const (&rows)[kPanelRows], std::byte* panel);
  /// Turns a block of random bytes into one whose values have about the given standard deviation (for synthetic
  /// models).
  void (*set_deviation)(std::byte* block, float deviation);
  /// Encodes `values` finite floats as one block, keeping the sum of importance * (value - decoded value)^2 small.
  /// `importance` holds a weight above 0 per value. Null: Terrace does not make this type.
  void (*encode)(const float* values, const float* importance, std::byte* block) = nullptr;
  /// Null for types whose values are not evenly spaced.
  const UniformCodes* codes = nullptr;
  /// For types whose blocks of a row have to agree: encodes a whole row of `columns` values.
  void (*encode_row)(const float* values, const float* importance, size_t columns, std::byte* blocks) = nullptr;
};

struct BlockType {
  uint32_t code;
  std::string_view name;              ///< as llama.cpp spells it: "Q4_K"
  uint32_t values;                    ///< values per block
  uint32_t bytes;                     ///< bytes per block in a file
  const BlockCodec* codec = nullptr;  ///< null: known to the format, not computable
};

/// The layouts of the blocks, as general.quantization_version counts them.
constexpr uint32_t kQuantizationVersion = 2;

const BlockType& block_type(TypeCode code);
/// The type with that GGUF code, or null.
const BlockType* find_block_type(uint32_t code);
/// The type of that name, upper or lower case, or null.
const BlockType* find_block_type(std::string_view name);
std::span<const BlockType> block_types();

}  // namespace terrace::format
