//===- Fp8.h - Numbers of eight bits and their scales -----------*- C++ -*-===//
//
// The rule that makes codes and scales from numbers (hone.quantize), for the
// interpreter, the CPU and tests. Kernels that compute it with instructions of
// their own are compared with it bit by bit.
//
// A scale is a power of two, 2^e, so that a code times its scale is a number of
// bf16. A code is x 2^-e, rounded to nearest even and saturated: it is a NaN
// only if x is.
//
//===----------------------------------------------------------------------===//

#ifndef HONERT_BASE_FP8_H
#define HONERT_BASE_FP8_H

#include <cmath>
#include <cstdint>
#include <limits>

namespace honert {

/// e4m3: four bits of exponent, no infinity, one NaN per sign (OCP E4M3).
/// e5m2: an IEEE format; infinities are read, but never made.
enum class Fp8Format : int64_t { e4m3, e5m2 };

struct Fp8Facts {
  int mantissaBits;
  int bias;           ///< of the exponent
  int topExponent;    ///< the largest number is 1.75 * 2^topExponent
  uint8_t largest;    ///< its code
  int smallest;       ///< exponent of the smallest normal number
  uint8_t infinities; ///< code of +infinity and first code without a number
};

constexpr Fp8Facts factsOf(Fp8Format format) {
  return format == Fp8Format::e4m3 ? Fp8Facts{3, 7, 8, 0x7e, -6, 0x7f}
                                   : Fp8Facts{2, 15, 15, 0x7b, -14, 0x7c};
}

/// The code of a NaN. A NaN's sign is lost.
constexpr uint8_t fp8Nan = 0x7f;

/// The value of a code; every code of e4m3 and e5m2 is a number of f32.
inline float decodeFp8(Fp8Format format, uint8_t code) {
  Fp8Facts facts = factsOf(format);
  int magnitude = code & 0x7f, fraction = 1 << facts.mantissaBits;
  float sign = (code & 0x80) != 0 ? -1.0f : 1.0f;
  if (magnitude >= facts.infinities)
    return format == Fp8Format::e5m2 && magnitude == facts.infinities
               ? sign * std::numeric_limits<float>::infinity()
               : std::numeric_limits<float>::quiet_NaN();
  int exponent = magnitude >> facts.mantissaBits;
  int mantissa = magnitude % fraction;
  if (exponent == 0) // a subnormal number
    return sign *
           std::ldexp(float(mantissa), facts.smallest - facts.mantissaBits);
  return sign * std::ldexp(float(fraction + mantissa),
                           exponent - facts.bias - facts.mantissaBits);
}

/// The code nearest to `value`, of two the even one; beyond the largest number
/// the largest.
inline uint8_t encodeFp8(Fp8Format format, double value) {
  Fp8Facts facts = factsOf(format);
  if (std::isnan(value))
    return fp8Nan;
  uint8_t sign = std::signbit(value) ? 0x80 : 0;
  double magnitude = std::fabs(value);
  if (magnitude >= std::ldexp(1.75, facts.topExponent))
    return sign | facts.largest;
  int exponent = facts.smallest;
  if (magnitude >= std::ldexp(1.0, facts.smallest))
    exponent = std::ilogb(magnitude);
  // In units of the last place. A carry leads to the next exponent, of which
  // the mantissa is 0; numbers of `smallest` include the subnormal ones.
  int units =
      int(std::nearbyint(std::ldexp(magnitude, facts.mantissaBits - exponent)));
  int first = (exponent - facts.smallest) << facts.mantissaBits;
  return sign | uint8_t(first + units);
}

/// The exponent of a scale, of numbers of magnitude `amax` at most: the
/// smallest that lets none saturate. 0 if all are 0, or if `amax` is not
/// finite.
inline int fp8ScaleExponent(Fp8Format format, double amax) {
  constexpr int lowest = -126, highest = 127; // of normal numbers of f32
  if (amax == 0 || !std::isfinite(amax))
    return 0;
  int exponent = std::ilogb(amax);
  bool isAbove = std::ldexp(amax, -exponent) > 1.75;
  exponent += int(isAbove) - factsOf(format).topExponent;
  return exponent < lowest ? lowest : exponent > highest ? highest : exponent;
}

/// The code of `value` where the scale is 2^exponent.
inline uint8_t encodeFp8(Fp8Format format, double value, int exponent) {
  return encodeFp8(format, std::ldexp(value, -exponent));
}

/// A scale of f32, and one of UE8M0 (MX): the exponent plus 127. Where `amax`
/// is not finite both are NaN, so that no product hides it.
inline float fp8Scale(Fp8Format format, double amax) {
  return std::isfinite(amax) ? std::ldexp(1.0f, fp8ScaleExponent(format, amax))
                             : std::numeric_limits<float>::quiet_NaN();
}
inline uint8_t fp8MxScale(Fp8Format format, double amax) {
  return std::isfinite(amax) ? uint8_t(fp8ScaleExponent(format, amax) + 127)
                             : 0xff;
}
/// The value of a scale of UE8M0.
inline float decodeMxScale(uint8_t scale) {
  return scale == 0xff ? std::numeric_limits<float>::quiet_NaN()
                       : std::ldexp(1.0f, int(scale) - 127);
}

/// The larger of two magnitudes, or NaN if either is: what `amax` of a tile is
/// made with, in any order.
inline double largerMagnitude(double amax, double value) {
  double magnitude = std::fabs(value);
  return std::isnan(amax) || magnitude <= amax ? amax : magnitude;
}

} // namespace honert

#endif // HONERT_BASE_FP8_H
