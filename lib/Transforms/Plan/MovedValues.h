//===- MovedValues.h - Values that lie in the second arena ------*- C++ -*-===//
//
// A reload is a group that computes nothing: its result is its operand. From
// its maker to the reload the value lies in the second arena (FunctionPlanner),
// or always, where it is a weight (StreamedWeights.h).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_TRANSFORMS_PLAN_MOVEDVALUES_H
#define HONE_LIB_TRANSFORMS_PLAN_MOVEDVALUES_H

#include "hone/IR/Hone.h"

namespace hone {

/// On a group: it is a reload.
constexpr llvm::StringLiteral reloadAttr = "hone.reload";

inline bool isReload(mlir::Operation *op) { return op->hasAttr(reloadAttr); }

/// Creates the reload of a value that a group makes.
FusedOp createReload(mlir::OpBuilder &builder, mlir::Value value);

/// Whether a value may lie in the second arena: a group that is no collective
/// makes it, as a whole and not as part of another value, and groups alone read
/// it, also through views.
bool mayMove(mlir::Value value);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PLAN_MOVEDVALUES_H
