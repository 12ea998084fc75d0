//===- SplitTurns.h - The functions that a schedule runs --------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_PLAN_SPLITTURNS_H
#define HONE_LIB_TRANSFORMS_PLAN_SPLITTURNS_H

#include "hone/Analysis/Pipeline/StageSchedule.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hone {

/// What @accumulate of a stage becomes (hone-split-turns), in the order in
/// which it runs. The caller owns the functions.
llvm::SmallVector<mlir::func::FuncOp>
splitTurns(mlir::func::FuncOp accumulate, const pipeline::StageTurns &turns);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PLAN_SPLITTURNS_H
