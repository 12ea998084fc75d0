//===- OffloadPrice.h - What a step takes within a budget -------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_PLAN_OFFLOADPRICE_H
#define HONE_LIB_TRANSFORMS_PLAN_OFFLOADPRICE_H

#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Transforms/Passes.h"

namespace hone {

/// Runs a pipeline on an op inside of the one that a pass is at.
using RunPipeline = llvm::function_ref<mlir::LogicalResult(
    mlir::OpPassManager &, mlir::Operation *)>;

/// Seconds of a step of `trial`, a module of fused functions inside of another
/// one, with the checkpoints that `options` choose: those of all launches, and
/// those that they wait for copies. Nothing where no choice is within the
/// budget. `trial` becomes a plan; errors are not reported.
std::optional<double> priceOfStep(mlir::ModuleOp trial,
                                  const PlanCheckpointsOptions &options,
                                  const TargetDescription &target,
                                  RunPipeline run);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PLAN_OFFLOADPRICE_H
