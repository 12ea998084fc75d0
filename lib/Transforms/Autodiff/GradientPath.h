//===- GradientPath.h - What lies between parameters and loss ---*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_AUTODIFF_GRADIENTPATH_H
#define HONE_LIB_TRANSFORMS_AUTODIFF_GRADIENTPATH_H

#include "hone/IR/Hone.h"

namespace hone {

/// The values that an argument with hone.requires_grad influences through
/// differentiable ops: floating-point, and not behind a stop_gradient. `func`
/// has one block.
llvm::DenseSet<mlir::Value> findTrainedValues(mlir::func::FuncOp func);

/// Those of the values `trained` on which `loss` depends.
llvm::DenseSet<mlir::Value>
findOnPath(mlir::func::FuncOp func, mlir::Value loss,
           const llvm::DenseSet<mlir::Value> &trained);

/// The loss, then new values of buffers and checks of ids.
bool returnsOneLoss(mlir::func::FuncOp func);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_AUTODIFF_GRADIENTPATH_H
