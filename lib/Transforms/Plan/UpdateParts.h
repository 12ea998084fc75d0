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

/// Small kernels between two large ones, at most. The state of three kernels is
/// in memory at a time. One small kernel between two large ones costs no time.
/// Two cost some, because copies then wait, but take the least memory: the
/// state of one large kernel is there at a time.
constexpr int mostSmallBetween = 2;

/// Orders the kernels of `func` that update `away`: the largest first, with
/// `smallBetween` small ones between two large ones. Right behind each comes
/// what reads its results, as kernels that make codes of a weight.
void orderUpdates(mlir::func::FuncOp func,
                  const llvm::DenseSet<mlir::Value> &away, int smallBetween);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PLAN_UPDATEPARTS_H
