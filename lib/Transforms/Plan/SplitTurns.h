//===- SplitTurns.h - The functions that a schedule runs --------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_PLAN_SPLITTURNS_H
#define HONE_LIB_TRANSFORMS_PLAN_SPLITTURNS_H

#include "hone/Analysis/Pipeline/StageSchedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hone {

/// What @accumulate of a chunk becomes (hone-split-turns), in the order in
/// which it runs. The caller owns the functions. `dist.window` of a boundary
/// between two chunks of one stage is what this one needs of it, perhaps 0: the
/// boundary has as many instances as both need together.
llvm::SmallVector<mlir::func::FuncOp>
splitTurns(mlir::func::FuncOp accumulate, const pipeline::ChunkTurns &turns);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PLAN_SPLITTURNS_H
