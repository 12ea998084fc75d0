//===- Power.h - pow of f32 in instructions ---------------------*- C++ -*-===//

#ifndef HONE_LIB_TARGET_GPU_POWER_H
#define HONE_LIB_TARGET_GPU_POWER_H

#include "mlir/IR/Builders.h"

namespace hone {

/// base^exponent of f32, or of vectors of it, with the special cases of C's
/// pow, computed in f64: right to a rounding and 2^-8 of one. For exponents
/// that no kernel has by the million: about 70 instructions, which a GPU for
/// graphics runs at a small part of its rate.
mlir::Value emitPower(mlir::OpBuilder &builder, mlir::Location loc,
                      mlir::Value base, mlir::Value exponent);

} // namespace hone

#endif // HONE_LIB_TARGET_GPU_POWER_H
