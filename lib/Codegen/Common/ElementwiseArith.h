//===- ElementwiseArith.h - Elementwise ops on scalars and vectors --------===//
//
// What an elementwise op of the hone dialect computes, as arith and math ops
// on a scalar or a vector of elements. Floats narrower than f32 are computed
// in f32 and rounded where the op's result has the narrow type.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_CODEGEN_COMMON_ELEMENTWISEARITH_H
#define HONE_LIB_CODEGEN_COMMON_ELEMENTWISEARITH_H

#include "hone/IR/Hone.h"

#include "mlir/IR/Builders.h"

namespace hone::elementwise {

/// The type that elements of `element` are computed in.
mlir::Type computeType(mlir::Type element);

/// A float, scalar or vector, as float type `to`, rounded once to nearest even.
mlir::Value convertFloat(mlir::OpBuilder &builder, mlir::Location loc,
                         mlir::Value value, mlir::Type to);

/// A constant of computed type from an element attribute.
mlir::Value constant(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::TypedAttr value);

/// Loaded data (scalar or vector; i1 as i8) of element type `element`, as it
/// is computed with.
mlir::Value fromMemory(mlir::OpBuilder &builder, mlir::Location loc,
                       mlir::Value loaded, mlir::Type element);
/// The reverse, for memory of element type `memory`.
mlir::Value toMemory(mlir::OpBuilder &builder, mlir::Location loc,
                     mlir::Value value, mlir::Type memory);

/// hone.cast of computed data to element type `to`.
mlir::Value cast(mlir::OpBuilder &builder, mlir::Location loc,
                 mlir::Value value, mlir::Type to);

/// The result of an elementwise op (trait Elementwise) on computed operands.
mlir::Value compute(mlir::OpBuilder &builder, mlir::Location loc,
                    mlir::Operation *op, llvm::ArrayRef<mlir::Value> operands);

/// The neutral element of a reduction.
mlir::Value identity(mlir::OpBuilder &builder, mlir::Location loc,
                     ReduceKind kind, mlir::Type element);
/// Two partial results of a reduction as one.
mlir::Value combine(mlir::OpBuilder &builder, mlir::Location loc,
                    ReduceKind kind, mlir::Value a, mlir::Value b);
/// All lanes of a vector of partial results as one.
mlir::Value reduceLanes(mlir::OpBuilder &builder, mlir::Location loc,
                        ReduceKind kind, mlir::Value vector);

} // namespace hone::elementwise

#endif // HONE_LIB_CODEGEN_COMMON_ELEMENTWISEARITH_H
