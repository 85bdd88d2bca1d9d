// Cosines and sines of rope angles, the same on every processor.
#pragma once

#include <cstddef>

namespace terrace::compute {

/// cos and sin of `angle` (radians, |angle| < 2^30) in double precision from polynomials, so that no library's choice
/// of code matters.
struct CosSin {
  double cos, sin;
};
CosSin cos_sin(double angle);

}  // namespace terrace::compute
