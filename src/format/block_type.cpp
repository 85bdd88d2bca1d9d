#include "format/block_type.h"

#include <algorithm>
#include <cctype>

#include "format/blocks/blocks.h"

namespace terrace::format {
namespace {

// Codes, names and sizes as in ggml's type table.
constexpr size_t kK = 256;
const BlockType kTypes[] = {
    {0, "F32", 1, 4, &kF32Codec},
    {1, "F16", 1, 2, &kF16Codec},
    {2, "Q4_0", 32, 18, &kQ4_0Codec},
    {3, "Q4_1", 32, 20, &kQ4_1Codec},
    {6, "Q5_0", 32, 22, &kQ5_0Codec},
    {7, "Q5_1", 32, 24, &kQ5_1Codec},
    {8, "Q8_0", 32, 34, &kQ8_0Codec},
    {9, "Q8_1", 32, 36},
    {10, "Q2_K", kK, 84, &kQ2_KCodec},
    {11, "Q3_K", kK, 110, &kQ3_KCodec},
    {12, "Q4_K", kK, 144, &kQ4_KCodec},
    {13, "Q5_K", kK, 176, &kQ5_KCodec},
    {14, "Q6_K", kK, 210, &kQ6_KCodec},
    {15, "Q8_K", kK, 292},
    {16, "IQ2_XXS", kK, 66, &kIq2XxsCodec},
    {17, "IQ2_XS", kK, 74, &kIq2XsCodec},
    {18, "IQ3_XXS", kK, 98, &kIq3XxsCodec},
    {19, "IQ1_S", kK, 50, &kIq1SCodec},
    {20, "IQ4_NL", 32, 18, &kIq4NlCodec},
    {21, "IQ3_S", kK, 110, &kIq3SCodec},
    {22, "IQ2_S", kK, 82, &kIq2SCodec},
    {23, "IQ4_XS", kK, 136, &kIq4XsCodec},
    {24, "I8", 1, 1},
    {25, "I16", 1, 2},
    {26, "I32", 1, 4},
    {27, "I64", 1, 8},
    {28, "F64", 1, 8},
    {29, "IQ1_M", kK, 56, &kIq1MCodec},
    {30, "BF16", 1, 2, &kBf16Codec},
    {34, "TQ1_0", kK, 54, &kTq1_0Codec},
    {35, "TQ2_0", kK, 66, &kTq2_0Codec},
    {39, "MXFP4", 32, 17, &kMxfp4Codec},
    {40, "NVFP4", 64, 36, &kNvfp4Codec},
    {41, "Q1_0", 128, 18, &kQ1_0Codec},
    {42, "Q2_0", 64, 18, &kQ2_0Codec},
    {0x54520001, "Q4SG128", 128, 66, &kQ4SG128Codec},
    {0x54520002, "Q8G128", 128, 130, &kQ8G128Codec},
    {0x54520003, "NF4C", kK, 130, &kNf4CCodec},
    {0x54520004, "Q4C", kK, 130, &kQ4CCodec},
    {0x54520005, "Q8C", kK, 258, &kQ8CCodec},
};

bool same_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::toupper(x) == std::toupper(y); });
}

}  // namespace

const BlockType& block_type(TypeCode code) { return *find_block_type(static_cast<uint32_t>(code)); }

const BlockType* find_block_type(uint32_t code) {
  for (const BlockType& type : kTypes) {
    if (type.code == code) return &type;
  }
  return nullptr;
}

const BlockType* find_block_type(std::string_view name) {
  for (const BlockType& type : kTypes) {
    if (same_ignoring_case(type.name, name)) return &type;
  }
  return nullptr;
}

std::span<const BlockType> block_types() { return kTypes; }

}  // namespace terrace::format
