//===- GradientSums.h - Arguments that hold gradients -----------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_STEP_GRADIENTSUMS_H
#define HONE_LIB_TRANSFORMS_STEP_GRADIENTSUMS_H

#include "ParameterUpdates.h"
#include "StepFunction.h"

namespace hone {

/// The attributes of the gradient of `t` under `name`.
mlir::DictionaryAttr describeGradient(StepFunction &step, const Trained &t,
                                      llvm::StringRef name);

/// The gradients that @gradient returns behind the loss, of the parameters that
/// are trained.
mlir::OperandRange gradientsOf(mlir::func::FuncOp gradient);

/// The terms of `gradient` that have a sum over micro-batches each. In a
/// mesh-invariant module (`isInvariant`) these are the gradients by the two
/// places that read a parameter, as where two stages of a pipeline read a tied
/// weight: so bits are those of one rank. What a boundary hands on has a sum in
/// its stage already (dist-split-stages).
llvm::SmallVector<mlir::Value, 2> termsOf(mlir::Value gradient,
                                          bool isInvariant);

/// Appends an argument for the sum of each term of `gradient`, that of `t`.
llvm::SmallVector<mlir::BlockArgument, 2> addGradients(StepFunction &step,
                                                       const Trained &t,
                                                       mlir::Value gradient,
                                                       bool isInvariant);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_STEP_GRADIENTSUMS_H
