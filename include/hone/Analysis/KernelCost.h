//===- KernelCost.h - Seconds that a kernel takes ---------------*- C++ -*-===//
//
// A roofline: a kernel takes as long as its products and maps need at the
// target's rates, or as its operands and results need to move, whichever is
// longer, and a launch.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_KERNELCOST_H
#define HONE_ANALYSIS_KERNELCOST_H

#include "hone/Analysis/TargetDescription.h"

namespace hone {

/// Seconds of one kernel that computes `ops`, reads `reads` and writes
/// `writes`, each once.
double kernelSeconds(llvm::ArrayRef<mlir::Operation *> ops,
                     mlir::ValueRange reads, mlir::ValueRange writes,
                     const TargetDescription &target);

} // namespace hone

#endif // HONE_ANALYSIS_KERNELCOST_H
