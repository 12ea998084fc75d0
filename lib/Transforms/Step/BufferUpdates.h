//===- BufferUpdates.h - New values of buffers ------------------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_STEP_BUFFERUPDATES_H
#define HONE_LIB_TRANSFORMS_STEP_BUFFERUPDATES_H

#include "StepFunction.h"
#include "hone/IR/SelectionBias.h"

namespace hone {

/// New values of buffers, among the results of @gradient, take the place of the
/// old, `buffers`: those of `step`, in the order of the arguments of @gradient.
/// Counts of experts move their bias instead, if it is among `biases`.
void updateBuffers(mlir::func::FuncOp gradient,
                   llvm::ArrayRef<mlir::Value> results,
                   llvm::ArrayRef<mlir::BlockArgument> buffers,
                   llvm::ArrayRef<SelectionBias> biases, StepFunction &step);

/// Makes two results of `step`: the new value of `bias`, which is
/// `bias + rate * sign(mean(counted) - counted)`, and 0 for its counts.
/// `counted`: how often each expert was selected in the step, whose buffer is
/// `counts`.
void updateBias(StepFunction &step, mlir::BlockArgument bias,
                mlir::Value counted, mlir::BlockArgument counts, double rate);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_STEP_BUFFERUPDATES_H
