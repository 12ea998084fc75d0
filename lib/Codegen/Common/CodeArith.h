//===- CodeArith.h - Codes of fp8 and their scales as arithmetic -*- C++
//-*-===//
//
// The rule of base/Fp8.h in integer arithmetic on f32, scalars or vectors, so
// that it has the same bits on every processor. Subnormal numbers, which no
// kernel makes, become codes of 0.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_COMMON_CODEARITH_H
#define HONE_LIB_CODEGEN_COMMON_CODEARITH_H

#include "base/Fp8.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {

/// |x| as bits of i32: these are ordered as magnitudes are, NaN above all.
mlir::Value magnitudeBits(mlir::ImplicitLocOpBuilder &b, mlir::Value x);

/// The exponent of the scale of numbers up to `amax` (magnitudeBits) plus 127,
/// i32: 1 to 254.
mlir::Value scaleExponent(mlir::ImplicitLocOpBuilder &b, mlir::Value amax,
                          honert::Fp8Format format);
/// The scale of that exponent in memory: f32, or UE8M0 in i8. NaN where `amax`
/// is not finite.
mlir::Value scaleOfExponent(mlir::ImplicitLocOpBuilder &b, mlir::Value exponent,
                            mlir::Value amax, mlir::Type element);
/// 1 / scale of that exponent, f32.
mlir::Value inverseScale(mlir::ImplicitLocOpBuilder &b, mlir::Value exponent);

/// The code, in i8, of an f32 that was multiplied by the inverse of its scale.
mlir::Value encodeFp8(mlir::ImplicitLocOpBuilder &b, mlir::Value scaled,
                      honert::Fp8Format format);

} // namespace hone

#endif // HONE_LIB_CODEGEN_COMMON_CODEARITH_H
