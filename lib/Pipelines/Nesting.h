//===- Nesting.h - Passes on parts of a module ------------------*- C++ -*-===//

#ifndef HONE_LIB_PIPELINES_NESTING_H
#define HONE_LIB_PIPELINES_NESTING_H

#include "mlir/Pass/PassManager.h"

namespace hone {

using BuildPasses = llvm::function_ref<void(mlir::OpPassManager &)>;

/// Adds the passes that `build` adds, for packages with @forward: they lead
/// from there to @step, and run where the package does not hold the whole step
/// already.
void addOnForward(mlir::OpPassManager &manager, BuildPasses build);

/// Adds the passes that `build` adds, for the module of each stage of a
/// pipeline; for the module itself where it has no stages.
void addOnStages(mlir::OpPassManager &manager, BuildPasses build);

} // namespace hone

#endif // HONE_LIB_PIPELINES_NESTING_H
