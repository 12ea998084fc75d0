//===- PlacementRules.h - How ranks hold the results of an op ---*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_VERIFY_PLACEMENTRULES_H
#define HONE_LIB_SHARDING_VERIFY_PLACEMENTRULES_H

#include "PlacementAnalysis.h"
#include "Sharding/Model/ShardingRule.h"

namespace hone::dist {

/// An op that each rank runs, with the placements of its operands.
struct PlacedOp {
  mlir::Operation *op;
  const ShardingRule &rule;
  llvm::SmallVector<ValuePlacement, 0> operands;
};

/// The dimensions of a result along which all elements are equal.
llvm::SmallBitVector repeatedDims(const PlacedOp &op, unsigned result);
/// The axes along which replicas of the results are partial too.
llvm::SmallBitVector partialAxes(const PlacedOp &op, const Mesh &mesh);
/// The placement of each result along an axis along which operands are not all
/// replicas; failure where the op takes partial sums as if they were the sum.
mlir::FailureOr<llvm::SmallVector<Placement>> placementsOf(const PlacedOp &op,
                                                           unsigned axis);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_VERIFY_PLACEMENTRULES_H
