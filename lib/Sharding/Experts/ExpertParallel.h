//===- ExpertParallel.h - Experts that an axis divides ----------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_EXPERTS_EXPERTPARALLEL_H
#define HONE_LIB_SHARDING_EXPERTS_EXPERTPARALLEL_H

#include "hone/Sharding/IR/Sharding.h"

#include "llvm/ADT/StringSet.h"

namespace hone::dist {

/// The names of the parameters of `func` that have a matrix for each expert.
/// Reports a weight of experts that is no parameter, and a function without
/// any; `axis` is for messages.
mlir::FailureOr<llvm::StringSet<>> findExperts(mlir::func::FuncOp func,
                                               mlir::StringAttr axis);

/// Constrains the rows of experts (dist-block-experts) to groups along
/// `groupAxes` and blocks along `blockAxes`, and tables of tokens to blocks
/// along all of them. So tokens are gathered along the former before their rows
/// are picked, and the sums of a group's results are scattered. Both sides of
/// an exchange are constrained: rows of blocks there, of groups here.
void divideBlocks(mlir::func::FuncOp func,
                  llvm::ArrayRef<mlir::StringAttr> blockAxes,
                  llvm::ArrayRef<mlir::StringAttr> groupAxes);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_EXPERTS_EXPERTPARALLEL_H
