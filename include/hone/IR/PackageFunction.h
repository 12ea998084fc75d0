//===- PackageFunction.h - The function that a package holds ----*- C++ -*-===//
//
// A package holds @forward, which the compiler differentiates, or a whole step
// that the user's framework has differentiated: @step, in a module that has
// the attribute `hone.whole_step`.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_IR_PACKAGEFUNCTION_H
#define HONE_IR_PACKAGEFUNCTION_H

#include "hone/IR/Hone.h"

namespace hone {

namespace attr {
/// On the module: its @step is the package's, and has no phases before it.
constexpr llvm::StringLiteral wholeStep = "hone.whole_step";
} // namespace attr

/// Whether the package of `module` holds a whole step.
bool holdsWholeStep(mlir::ModuleOp module);

/// @forward, or @step where the package holds a whole step; null where there is
/// none.
mlir::func::FuncOp findPackageFunction(mlir::ModuleOp module);

} // namespace hone

#endif // HONE_IR_PACKAGEFUNCTION_H
