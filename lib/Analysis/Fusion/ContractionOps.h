//===- ContractionOps.h - Ops around a product ------------------*- C++ -*-===//
//
// What ContractionForm.cpp reads in a group and ContractionGroups.cpp looks for
// around a product.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_ANALYSIS_FUSION_CONTRACTIONOPS_H
#define HONE_LIB_ANALYSIS_FUSION_CONTRACTIONOPS_H

#include "hone/Analysis/Fusion/ContractionGroups.h"

namespace hone::contraction {

inline mlir::RankedTensorType typeOf(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}

inline Epilogues epiloguesOf(DotGeneralOp dot,
                             const TargetDescription &target) {
  return target.epilogues(mlir::getElementTypeOrSelf(dot.getLhs().getType()),
                          mlir::getElementTypeOrSelf(dot.getType()));
}

/// What `slowdown` adds to the seconds of `dot`.
inline double secondsLonger(DotGeneralOp dot, Epilogues::Slowdown slowdown,
                            const TargetDescription &target) {
  return slowdown.value_or(0) * double(dot.getCost().flops) /
         target.contractionFlopsPerSecond(dot);
}

/// `other` operand of an addition that reads `value` once.
inline mlir::Value otherOperand(AddOp add, mlir::Value value) {
  return add.getLhs() == value ? add.getRhs() : add.getLhs();
}

/// The broadcast of a vector along the last dimension of `type`, or null.
inline BroadcastOp biasOf(mlir::Value value, mlir::RankedTensorType type) {
  auto broadcast = value.getDefiningOp<BroadcastOp>();
  bool isBias = broadcast && broadcast.getDims().size() == 1 &&
                broadcast.getDims()[0] == type.getRank() - 1;
  return isBias ? broadcast : BroadcastOp();
}

/// What `reduce` sums, without a cast that only widens for it.
inline mlir::Value summed(ReduceOp reduce) {
  auto cast = reduce.getOperand().getDefiningOp<CastOp>();
  return cast && cast->hasOneUse() ? cast.getOperand() : reduce.getOperand();
}

/// Whether `reduce` sums over all dimensions but the last.
bool isColumnSum(ReduceOp reduce);
/// Whether it sums an operand of `dot` over exactly what the product contracts.
bool isOperandSum(ReduceOp reduce, DotGeneralOp dot);

} // namespace hone::contraction

#endif // HONE_LIB_ANALYSIS_FUSION_CONTRACTIONOPS_H
