//===- SplitSums.h - Sums of gradients, by the part that has them ---------===//

#ifndef HONE_LIB_TRANSFORMS_PLAN_SPLITSUMS_H
#define HONE_LIB_TRANSFORMS_PLAN_SPLITSUMS_H

#include "hone/IR/Hone.h"

#include "mlir/IR/IRMapping.h"

namespace hone {

/// Results of a group, by number.
using ResultNumbers = llvm::SmallVector<unsigned>;

/// Whether `group` adds gradients to what micro-batches have summed, each
/// result by itself, and only the end of the function reads them.
bool isOfSums(FusedOp group);
/// What result `number` of such a group adds.
llvm::SmallVector<mlir::Value> operandsOfSum(FusedOp group, unsigned number);
/// A group of these results of such a one, whose operands are in `mapping`, as
/// its results then are.
void cloneSums(mlir::OpBuilder &builder, FusedOp group,
               llvm::ArrayRef<unsigned> numbers, mlir::IRMapping &mapping);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PLAN_SPLITSUMS_H
