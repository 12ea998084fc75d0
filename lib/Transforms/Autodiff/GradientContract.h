//===- GradientContract.h - What @gradient must be --------------*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_AUTODIFF_GRADIENTCONTRACT_H
#define HONE_LIB_TRANSFORMS_AUTODIFF_GRADIENTCONTRACT_H

#include "hone/IR/Hone.h"

namespace hone {

/// Checks that `func` has a body, returns one floating-point loss and then one
/// gradient, of its name and type, per argument with hone.requires_grad, in
/// order, then new values of buffers and checks of ids; the error says what it
/// saw.
mlir::LogicalResult checkGradientContract(mlir::func::FuncOp func);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_AUTODIFF_GRADIENTCONTRACT_H
