//===- MathFunctions.h - Functions of computed elements ---------*- C++ -*-===//
//
// Functions that the dialects arith and math lack or have with too few digits,
// on scalars and vectors of computed type (ElementwiseArith.h).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_COMMON_MATHFUNCTIONS_H
#define HONE_LIB_CODEGEN_COMMON_MATHFUNCTIONS_H

#include "hone/IR/Hone.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

namespace hone::elementwise {

/// A constant like `type`, scalar or vector.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Type type,
                  double value);

/// Short names for ops of arith and math; all operands have one type, scalar or
/// vector.
struct Math {
  mlir::OpBuilder &builder;
  mlir::Location loc;

  mlir::Value c(mlir::Value like, double value) {
    return splat(builder, loc, like.getType(), value);
  }
  mlir::Value add(mlir::Value a, mlir::Value b) {
    return builder.create<mlir::arith::AddFOp>(loc, a, b);
  }
  mlir::Value sub(mlir::Value a, mlir::Value b) {
    return builder.create<mlir::arith::SubFOp>(loc, a, b);
  }
  mlir::Value mul(mlir::Value a, mlir::Value b) {
    return builder.create<mlir::arith::MulFOp>(loc, a, b);
  }
  mlir::Value div(mlir::Value a, mlir::Value b) {
    return builder.create<mlir::arith::DivFOp>(loc, a, b);
  }
  mlir::Value fma(mlir::Value a, mlir::Value b, mlir::Value c) {
    return builder.create<mlir::math::FmaOp>(loc, a, b, c);
  }
  mlir::Value exp(mlir::Value a) {
    return builder.create<mlir::math::ExpOp>(loc, a);
  }
  mlir::Value log(mlir::Value a) {
    return builder.create<mlir::math::LogOp>(loc, a);
  }
  mlir::Value isEqual(mlir::Value a, double number) {
    return builder.create<mlir::arith::CmpFOp>(
        loc, mlir::arith::CmpFPredicate::OEQ, a, c(a, number));
  }
  mlir::Value isAbove(mlir::Value a, double number) {
    return builder.create<mlir::arith::CmpFOp>(
        loc, mlir::arith::CmpFPredicate::OGT, a, c(a, number));
  }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) {
    return builder.create<mlir::arith::SelectOp>(loc, condition, a, b);
  }
  mlir::Value neg(mlir::Value a) {
    return builder.create<mlir::arith::NegFOp>(loc, a);
  }
  /// 1 / (1 + e^-x): e^-x overflows to inf for x < -88, and the result is 0.
  /// The quotient may be approximate: a unit in the last place on a GPU, none
  /// on a CPU.
  mlir::Value logistic(mlir::Value x) {
    mlir::Value one = c(x, 1.0);
    return builder.create<mlir::arith::DivFOp>(loc, one, add(one, exp(neg(x))),
                                               mlir::arith::FastMathFlags::afn);
  }
};

mlir::Value tanhOf(Math m, mlir::Value x);
mlir::Value expm1Of(Math m, mlir::Value x);
mlir::Value log1pOf(Math m, mlir::Value x);
mlir::Value atanOf(Math m, mlir::Value x);
mlir::Value erfOf(Math m, mlir::Value x);

/// sin(x + quarterTurns * pi/2).
mlir::Value sine(Math m, mlir::Value x, int64_t quarterTurns);

/// hone.gelu and its gradient.
mlir::Value gelu(Math m, mlir::Value x, GeluApproximation form);
mlir::Value geluBwd(Math m, mlir::Value grad, mlir::Value x,
                    GeluApproximation form);

} // namespace hone::elementwise

#endif // HONE_LIB_CODEGEN_COMMON_MATHFUNCTIONS_H
