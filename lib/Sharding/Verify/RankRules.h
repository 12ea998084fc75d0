//===- RankRules.h - What ranks hold behind an op ---------------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_VERIFY_RANKRULES_H
#define HONE_LIB_SHARDING_VERIFY_RANKRULES_H

#include "RankDifferences.h"
#include "Sharding/Model/ShardingRule.h"

namespace hone::dist {

/// An op that each rank runs, and what ranks hold in its operands.
struct RankOp {
  mlir::Operation *op;
  const ShardingRule &rule;
  llvm::SmallVector<Held, 0> operands;
};

/// The dimensions of a result along which elements repeat one.
llvm::SmallBitVector repeatedDims(const RankOp &op, unsigned result);
/// The axes along which results that are the same are terms too.
llvm::SmallBitVector termAxes(const RankOp &op, const Mesh &mesh);
/// How each result differs along an axis along which operands do; failure where
/// the op takes terms as if they were what they make together.
mlir::FailureOr<llvm::SmallVector<Difference>> differencesOf(const RankOp &op,
                                                             unsigned axis);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_VERIFY_RANKRULES_H
