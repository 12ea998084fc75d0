//===- LossChunks.h - The head and the loss by chunks of rows ---*- C++ -*-===//
//
// The decision behind hone-chunk-loss. It reads IR and changes nothing.
//
// A *head* is a product (the logits), a cross entropy of it, and what the
// gradient of the logits is for: products that keep the rows (the gradient of
// the head's input) and sums over the rows (the gradients of the head's weight
// and bias). Nothing else reads the logits or their gradient, so that both can
// be made, used and dropped for some rows at a time (docs/rationale/
// chunked-loss.md).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_FUSION_LOSSCHUNKS_H
#define HONE_ANALYSIS_FUSION_LOSSCHUNKS_H

#include "hone/Analysis/Cost/TargetDescription.h"

#include <string>

namespace hone {

struct LossHead {
  DotGeneralOp product; ///< rows first: [rows..., vocab]
  CrossEntropyOp loss;
  CrossEntropyBwdOp gradient; ///< null where only the loss is requested
  /// Elementwise ops and reshapes from the product to the loss and from the
  /// gradient on, in program order; results have the logits' elements.
  llvm::SmallVector<mlir::Operation *> maps;
  llvm::SmallVector<DotGeneralOp> rowProducts; ///< [rows..., x]
  llvm::SmallVector<DotGeneralOp> weightSums;  ///< contracted over the rows
  llvm::SmallVector<ReduceOp> biasSums;        ///< over the rows

  int64_t rows();
  int64_t vocab();
  /// Every op above.
  llvm::SmallVector<mlir::Operation *> ops();
  /// What those ops read and do not make.
  llvm::SmallVector<mlir::Value> operands();
};

/// The head that `loss` ends; a failure leaves in `reason` why it is none.
mlir::FailureOr<LossHead> findLossHead(CrossEntropyOp loss,
                                       std::string &reason);

/// Rows per chunk that pay on `target`; all rows where one chunk is best.
int64_t rowsPerLossChunk(LossHead head, const TargetDescription &target);

} // namespace hone

#endif // HONE_ANALYSIS_FUSION_LOSSCHUNKS_H
