//===- StepFlops.h - The arithmetic that a step is judged by ----*- C++ -*-===//

#ifndef HONE_ANALYSIS_COST_STEPFLOPS_H
#define HONE_ANALYSIS_COST_STEPFLOPS_H

#include "mlir/IR/BuiltinOps.h"

namespace hone {

/// How often a step of `microBatches` micro-batches runs a function that a plan
/// may have: those of stages as often as @accumulate, @evaluate never.
int64_t timesPerStep(llvm::StringRef function, int64_t microBatches);

/// FLOPs of the products and of attention in a step. After the step phase: what
/// model FLOPs utilization (MFU) counts; nothing is computed again yet.
double modelFlops(mlir::ModuleOp module, int64_t microBatches);

} // namespace hone

#endif // HONE_ANALYSIS_COST_STEPFLOPS_H
