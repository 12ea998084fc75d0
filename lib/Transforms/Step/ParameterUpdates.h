//===- ParameterUpdates.h - The optimizer ops of a step ---------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_STEP_PARAMETERUPDATES_H
#define HONE_LIB_TRANSFORMS_STEP_PARAMETERUPDATES_H

#include "OptimizerSettings.h"
#include "hone/IR/Hone.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace hone {

/// A trained parameter: its value, its state and what the step made of them.
struct Trained {
  mlir::BlockArgument param;
  llvm::SmallVector<mlir::BlockArgument> state;
  mlir::Value gradient;
  int64_t group = 0;
  llvm::StringRef name;
  mlir::ArrayAttr parts; // null: the parameter is its own only part
};

/// Operands of the update that change from step to step, all of rank 0.
struct Scalars {
  mlir::BlockArgument lr, weightDecay, clip, step;
};

/// Operands that all updates of a step share.
struct SharedOperands {
  Scalars scalars;
  mlir::Value key; ///< null: results are rounded to nearest
  mlir::Value count, factor, apply;
};

/// Makes the optimizer op of each of `trained`, whose results are the new
/// parameter and the new state.
llvm::SmallVector<mlir::Operation *>
updateParameters(mlir::ImplicitLocOpBuilder &builder,
                 const OptimizerSettings &settings,
                 const SharedOperands &shared, llvm::ArrayRef<Trained> trained);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_STEP_PARAMETERUPDATES_H
