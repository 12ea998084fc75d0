//===- UpdateParts.h - Kernels that update state of the second arena ------===//
//
// While a part of the update runs, the state of the next one is copied up and
// that of the one before is copied down (StagedParts.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_TRANSFORMS_PLAN_UPDATEPARTS_H
#define HONE_LIB_TRANSFORMS_PLAN_UPDATEPARTS_H

#include "hone/IR/Hone.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/DenseSet.h"

namespace hone {

/// Cuts `group`, if its ops may be in kernels of their own, where what they
/// read of `away` exceeds `chunk` bytes. The ops that read most come first:
/// while a part runs, neighbours are copied up and down beside each other,
/// which takes least where they are alike.
void divideUpdate(FusedOp group, const llvm::DenseSet<mlir::Value> &away,
                  int64_t chunk);

/// Orders the kernels of `func` that update `away`: the largest first, or if
/// the update has to be tight, with small ones between the large ones, which
/// takes less memory and more time. Right behind each comes what reads its
/// results, as kernels that make codes of a weight.
void orderUpdates(mlir::func::FuncOp func,
                  const llvm::DenseSet<mlir::Value> &away,
                  bool isTight = false);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PLAN_UPDATEPARTS_H
