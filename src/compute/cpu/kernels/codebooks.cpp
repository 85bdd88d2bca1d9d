#include "compute/cpu/kernels/codebooks.h"

#include "format/blocks/codebooks.h"

namespace terrace::compute::codebooks {
namespace {

/// Each entry with code(value) as its bytes.
template <class Word, class Book, class Code>
constexpr Table<Word, Book::kEntries> expanded(const Book& book, Code code) {
  static_assert(sizeof(Word) == Book::kRun);
  Table<Word, Book::kEntries> table = {};
  for (size_t entry = 0; entry < Book::kEntries; ++entry) {
    for (size_t i = 0; i < Book::kRun; ++i)
      table.words[entry] |= static_cast<Word>(code(book.value(entry, i))) << 8 * i;
  }
  return table;
}

constexpr auto plus_64 = [](int value) { return value + 64; };

}  // namespace

constexpr Table<uint64_t, 256> kIq2XxsOctets = expanded<uint64_t>(format::kIq2XxsCodebook, plus_64);
constexpr Table<uint64_t, 512> kIq2XsOctets = expanded<uint64_t>(format::kIq2XsCodebook, plus_64);
constexpr Table<uint64_t, 1024> kIq2SOctets = expanded<uint64_t>(format::kIq2SCodebook, plus_64);
constexpr Table<uint32_t, 256> kIq3XxsQuads =
    expanded<uint32_t>(format::kIq3XxsCodebook, [](int value) { return value / 2 + 32; });
constexpr Table<uint32_t, 512> kIq3SQuads =
    expanded<uint32_t>(format::kIq3SCodebook, [](int value) { return value + 16; });
constexpr Table<uint64_t, 2048> kIq1Octets =
    expanded<uint64_t>(format::kIq1Codebook, [](int value) { return 16 * value + 34; });

}  // namespace terrace::compute::codebooks
