// Four floats side by side, by the vector extension of GCC and Clang: the encoders' loops in any instruction set, with
// the same bits in all.
#pragma once

#include <cstddef>
#include <cstring>

namespace terrace::format {

using Lanes = float __attribute__((vector_size(16)));
constexpr size_t kLanes = 4;

inline Lanes load_lanes(const float* from) {
  Lanes lanes;
  std::memcpy(&lanes, from, sizeof lanes);
  return lanes;
}
inline Lanes all_lanes(float value) { return Lanes{value, value, value, value}; }
inline Lanes magnitudes(Lanes x) { return x < 0 ? -x : x; }
inline float total(Lanes x) { return (x[0] + x[2]) + (x[1] + x[3]); }

/// Rounds to the nearest integer (ties to even) within lo..hi; NaN becomes lo. The sum with 1.5 * 2^23 leaves no bits
/// below one.
inline Lanes nearest_codes(Lanes value, float lo, float hi) {
  const Lanes low = all_lanes(lo), high = all_lanes(hi);
  const Lanes above = value > low ? value : low;
  const Lanes within = above < high ? above : high;
  return (within + 12582912.0F) - 12582912.0F;
}
inline float nearest_code(float value, float lo, float hi) { return nearest_codes(all_lanes(value), lo, hi)[0]; }

}  // namespace terrace::format
