//===- KernelCost.h - Seconds that a kernel takes ---------------*- C++ -*-===//
//
// A roofline: a kernel takes as long as its products and maps need at the
// target's rates, or as its operands and results need to move, whichever is
// longer, and a launch.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_COST_KERNELCOST_H
#define HONE_ANALYSIS_COST_KERNELCOST_H

#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Plan/Plan.h"

namespace hone {

/// What a kernel needs, in seconds.
struct KernelTime {
  double computing = 0, moving = 0, launching = 0;

  double seconds() const { return std::max(computing, moving) + launching; }
};

/// What a launch costs: each buffer is read or written once, of one that its
/// ops say they read in part (a table of embeddings) that part.
OpCost launchCost(plan::LaunchOp launch);

/// A kernel that computes `ops` and moves `bytes`.
KernelTime kernelTime(llvm::ArrayRef<mlir::Operation *> ops, int64_t bytes,
                      const TargetDescription &target);

/// Seconds of a group, by its operands and results.
double kernelSeconds(FusedOp group, const TargetDescription &target);

/// Seconds of one kernel that computes `ops`, reads `reads` and writes
/// `writes`, each once.
double kernelSeconds(llvm::ArrayRef<mlir::Operation *> ops,
                     mlir::ValueRange reads, mlir::ValueRange writes,
                     const TargetDescription &target);

} // namespace hone

#endif // HONE_ANALYSIS_COST_KERNELCOST_H
