//===- ForwardOps.h - The ops that a loss is made from ----------*- C++ -*-===//

#ifndef HONE_IR_FORWARDOPS_H
#define HONE_IR_FORWARDOPS_H

#include "hone/IR/Hone.h"

#include "llvm/ADT/DenseSet.h"

namespace hone {

/// The loss that `func` returns, or null: the result of kind `loss`, and in
/// @accumulate the sum of losses.
mlir::Value findLoss(mlir::func::FuncOp func);

/// The ops in the block of a step function that its loss depends on, or what a
/// stage of a pipeline hands to the next; none for a function without either
/// (@update).
llvm::DenseSet<mlir::Operation *> forwardOps(mlir::func::FuncOp func);

} // namespace hone

#endif // HONE_IR_FORWARDOPS_H
