// The codebooks as the kernels look them up: an entry's values as bytes, ready to be codes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace terrace::compute::codebooks {

template <class Word, size_t Entries>
struct Table {
  Word words[Entries];
};

extern const Table<uint64_t, 256> kIq2XxsOctets;  ///< magnitude + 64
extern const Table<uint64_t, 512> kIq2XsOctets;   ///< magnitude + 64
extern const Table<uint64_t, 1024> kIq2SOctets;   ///< magnitude + 64
extern const Table<uint32_t, 256> kIq3XxsQuads;   ///< magnitude / 2 + 32
extern const Table<uint32_t, 512> kIq3SQuads;     ///< magnitude + 16
extern const Table<uint64_t, 2048> kIq1Octets;    ///< 16 * value + 34

}  // namespace terrace::compute::codebooks
