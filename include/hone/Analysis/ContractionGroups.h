//===- ContractionGroups.h - What a product computes besides ----*- C++ -*-===//
//
// Which ops run in the library call of a contraction: its epilogue. It reads IR
// and changes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_CONTRACTIONGROUPS_H
#define HONE_ANALYSIS_CONTRACTIONGROUPS_H

#include "hone/IR/Hone.h"

namespace hone {

/// A contraction and the ops that its library call computes with it.
struct ContractionGroup {
  DotGeneralOp dot;
  llvm::SmallVector<mlir::Operation *> ops; ///< program order, with `dot`
};

/// One group per contraction of the block, in program order.
llvm::SmallVector<ContractionGroup> planContractions(mlir::Block &block);

} // namespace hone

#endif // HONE_ANALYSIS_CONTRACTIONGROUPS_H
