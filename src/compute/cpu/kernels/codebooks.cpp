#include "compute/cpu/kernels/codebooks.h"

#include "format/blocks/codebooks.h"

namespace terrace::compute::codebooks {
namespace {

template <size_t Entries>
constexpr Table<Entries> octets(const format::Codebook<Entries, 8, 2>& book) {
  Table<Entries> table = {};
  for (size_t entry = 0; entry < Entries; ++entry) {
    for (size_t i = 0; i < 8; ++i)
      table.words[entry] |= (uint32_t{book.entries[entry]} >> 2 * i & 3) << (8 * (i % 4) + i / 4 * 4);
  }
  return table;
}

template <size_t Entries>
constexpr Table<Entries> quads(const format::Codebook<Entries, 4, 3>& book, int divisor) {
  Table<Entries> table = {};
  for (size_t entry = 0; entry < Entries; ++entry) {
    for (size_t i = 0; i < 4; ++i) table.words[entry] |= static_cast<uint32_t>(book.value(entry, i) / divisor) << 8 * i;
  }
  return table;
}

}  // namespace

constexpr Table<256> kIq2XxsOctets = octets(format::kIq2XxsCodebook);
constexpr Table<512> kIq2XsOctets = octets(format::kIq2XsCodebook);
constexpr Table<1024> kIq2SOctets = octets(format::kIq2SCodebook);
constexpr Table<2048> kIq1Octets = octets(format::kIq1Codebook);
constexpr Table<256> kIq3XxsQuads = quads(format::kIq3XxsCodebook, 2);
constexpr Table<512> kIq3SQuads = quads(format::kIq3SCodebook, 1);

}  // namespace terrace::compute::codebooks
