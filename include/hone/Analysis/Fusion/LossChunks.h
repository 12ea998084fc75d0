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

/// The type in which chunks add their parts of a sum of `type`: f32 at least,
/// so that the sum is rounded once.
mlir::RankedTensorType chunkSumType(mlir::RankedTensorType type);

/// The gradient of earlier micro-batches, an argument, that a chain of sums,
/// each read by the next alone, adds to `value`, and the sum that adds it; null
/// where there is none.
std::pair<AddOp, mlir::Value> gradientSoFar(mlir::Value value);

/// Rows per chunk that pay on `target`; all rows where one chunk is best.
int64_t rowsPerLossChunk(LossHead head, const TargetDescription &target);

/// Whether the peak of chunks of so many rows is less than that of all rows at
/// once. Where a gradient is narrower than f32, chunks add it up in f32, beside
/// their logits; all rows make it in one product, where it is to lie.
bool chunksSaveMemory(LossHead head, int64_t chunkRows);

} // namespace hone

#endif // HONE_ANALYSIS_FUSION_LOSSCHUNKS_H
