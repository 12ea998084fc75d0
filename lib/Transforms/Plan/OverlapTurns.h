//===- OverlapTurns.h - Two parts of a stage as one function ----*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_PLAN_OVERLAPTURNS_H
#define HONE_LIB_TRANSFORMS_PLAN_OVERLAPTURNS_H

#include "hone/Analysis/Cost/TargetDescription.h"
#include "hone/Sharding/IR/Sharding.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace hone {

/// What hone-overlap-turns makes of a forward function and the backward
/// function of another micro-batch. The caller owns it.
mlir::func::FuncOp overlapTurns(mlir::func::FuncOp forward,
                                mlir::func::FuncOp backward,
                                llvm::StringRef name, const dist::Mesh &mesh,
                                const TargetDescription &target);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PLAN_OVERLAPTURNS_H
