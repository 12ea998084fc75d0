//===- StreamedWeights.h - Weights of the second arena ----------*- C++ -*-===//
//
// A weight of the second arena that kernels read is copied up for each visit of
// its layer and has memory up to the last reader there (MovedValues.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_TRANSFORMS_PLAN_STREAMEDWEIGHTS_H
#define HONE_LIB_TRANSFORMS_PLAN_STREAMEDWEIGHTS_H

#include "hone/IR/Hone.h"

#include "mlir/IR/OwningOpRef.h"

namespace hone {

/// On an argument of the second arena: a weight, of the layer of this number.
/// Weights of one layer are in the arena together. Set by hone-offload-state.
constexpr llvm::StringLiteral layerAttr = "plan.layer";

/// The kernels that read `value`, also through views, by the operands with
/// which they do; other readers are among `others`.
struct Readings {
  llvm::SmallVector<mlir::OpOperand *> kernels;
  llvm::SmallVector<mlir::OpOperand *> others;
};
Readings readingsOf(mlir::Value value);

/// Makes a reload of each weight for each visit of its layer (hone.reload). A
/// visit ends where kernels read a weight of another layer. What a kernel
/// writes its new value over, that kernel reads as before.
void streamWeights(mlir::func::FuncOp func);

/// A function like `func` with reloads, which `copy` owns; `func` where it
/// needs none.
mlir::func::FuncOp withReloads(mlir::func::FuncOp func,
                               mlir::OwningOpRef<mlir::func::FuncOp> &copy);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PLAN_STREAMEDWEIGHTS_H
