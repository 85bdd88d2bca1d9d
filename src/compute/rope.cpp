#include "compute/rope.h"

#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace terrace::compute {
namespace {

// pi / 2 in three parts, the first two with 33 significant bits: their products with integers below 2^20 are exact, and
// beyond that the fma keeps the first one exact (method: Cody and Waite, Software Manual for the Elementary Functions,
// 1980).
constexpr double kHalfPi1 = 1.57079632673412561417e+00;
constexpr double kHalfPi2 = 6.07710050630396597660e-11;
constexpr double kHalfPi3 = 2.02226624879595063154e-21;

/// Taylor series; |x| <= pi / 4 makes the remainders smaller than 1e-16.
double sine(double x) {
  const double s = x * x;
  double p = -1.0 / 1307674368000;
  for (const double c : {1.0 / 6227020800, -1.0 / 39916800, 1.0 / 362880, -1.0 / 5040, 1.0 / 120, -1.0 / 6})
    p = p * s + c;
  return x + x * s * p;
}

double cosine(double x) {
  const double s = x * x;
  double p = 1.0 / 20922789888000;
  for (const double c : {-1.0 / 87178291200, 1.0 / 479001600, -1.0 / 3628800, 1.0 / 40320, -1.0 / 720, 1.0 / 24, -0.5})
    p = p * s + c;
  return 1 + s * p;
}

}  // namespace

CosSin cos_sin(double angle) {
  const double turns = std::nearbyint(angle * 0.63661977236758134308);
  const double rest = (std::fma(-turns, kHalfPi1, angle) - turns * kHalfPi2) - turns * kHalfPi3;
  const double s = sine(rest), c = cosine(rest);
  switch (static_cast<int64_t>(turns) & 3) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

}  // namespace terrace::compute
