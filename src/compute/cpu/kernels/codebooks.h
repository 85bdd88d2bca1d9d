// The codebooks as the kernels look them up: an entry's values in a word of 32 bits.
#pragma once

#include <cstddef>
#include <cstdint>

namespace terrace::compute::codebooks {

template <size_t Entries>
struct Table {
  uint32_t words[Entries];
};

// Octets: which of the codebook's levels each value is, value i in the low half of byte i, value 4 + i in the high one.
extern const Table<256> kIq2XxsOctets;
extern const Table<512> kIq2XsOctets;
extern const Table<1024> kIq2SOctets;
extern const Table<2048> kIq1Octets;
// Quads: a byte per magnitude.
extern const Table<256> kIq3XxsQuads;  ///< half of it
extern const Table<512> kIq3SQuads;

}  // namespace terrace::compute::codebooks
