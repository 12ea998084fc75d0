//===- UpdateGroups.h - Which updates share a kernel ------------*- C++ -*-===//
//
// A model has a hundred parameters and more, each updated by an op of its own.
// Equal updates are one multi-tensor kernel, which takes the tensors in turn:
// one launch, and code whose size does not grow with the model.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_FUSION_UPDATEGROUPS_H
#define HONE_ANALYSIS_FUSION_UPDATEGROUPS_H

#include "hone/IR/Hone.h"

namespace hone {

/// What updates of one kernel agree in: the op, its attributes but for the salt
/// of its random numbers, how parts number their elements, which operands and
/// results are used, and element types. Shapes and scalars may differ.
mlir::Attribute updateKey(mlir::Operation *op);

/// The updates of `block` that share a kernel, each group in program order. An
/// update whose results something else than the function's return reads is in
/// a group of its own: others might depend on it.
llvm::SmallVector<llvm::SmallVector<mlir::Operation *>>
planUpdates(mlir::Block &block);

} // namespace hone

#endif // HONE_ANALYSIS_FUSION_UPDATEGROUPS_H
