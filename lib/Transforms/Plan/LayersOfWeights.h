//===- LayersOfWeights.h - Weights that may be streamed ---------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_PLAN_LAYERSOFWEIGHTS_H
#define HONE_LIB_TRANSFORMS_PLAN_LAYERSOFWEIGHTS_H

#include "FunctionPlanner.h"

namespace hone {

StateKey keyOf(mlir::BlockArgument argument);

/// The parameter that has the working copy `name`, of itself or of its codes.
llvm::StringRef copiedParameter(llvm::StringRef name);

/// State that kernels read for each micro-batch: a working copy, or a parameter
/// without one.
struct LayerWeight {
  StateKey key;
  int64_t bytes;
  int64_t layer = 0; ///< in which its first kernel runs
};

/// The weights of at least `least` bytes that may lie in the second arena.
/// Kernels alone read them, none as a table whose rows it picks, and where a
/// function replaces one, a kernel makes the new value after all others have
/// read the old one.
llvm::SmallVector<LayerWeight> findWeights(mlir::ModuleOp module, int64_t least,
                                           const TargetDescription &target);

/// Marks them in all functions.
void markWeights(mlir::ModuleOp module, llvm::ArrayRef<LayerWeight> weights);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PLAN_LAYERSOFWEIGHTS_H
