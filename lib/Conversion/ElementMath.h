//===- ElementMath.h - Elementwise ops on scalars ---------------*- C++ -*-===//
//
// What one element of an elementwise hone op is, as arith and math ops: the
// whole numerical meaning of the scalar kernels.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_CONVERSION_ELEMENTMATH_H
#define HONE_CONVERSION_ELEMENTMATH_H

#include "KernelBuilder.h"

namespace hone {

/// Whether emitElement knows the op.
bool isElementOp(mlir::Operation *op);

/// The result element of `op` from its operands' elements, all in the tensors'
/// own element types. Narrow floats compute in f32 and round once.
mlir::Value emitElement(KernelBuilder &b, mlir::Operation *op,
                        llvm::ArrayRef<mlir::Value> operands);

/// `value` as an element of another type, with the rounding of hone.cast.
mlir::Value castElement(KernelBuilder &b, mlir::Value value, mlir::Type to);

/// Two elements combined: a step of hone.reduce. Sums and bounds of narrow
/// floats take and return f32.
mlir::Value combine(KernelBuilder &b, ReduceKind kind, mlir::Value lhs,
                    mlir::Value rhs);
/// The value that an empty reduction gives.
mlir::Value identityOf(KernelBuilder &b, ReduceKind kind, mlir::Type type);

} // namespace hone

#endif // HONE_CONVERSION_ELEMENTMATH_H
