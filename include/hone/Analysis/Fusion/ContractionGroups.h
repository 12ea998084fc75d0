//===- ContractionGroups.h - What a product computes besides ----*- C++ -*-===//
//
// Which ops run in the library call of a contraction: its epilogue. The target
// says what its library has and what that costs (TargetDescription.h); this
// file knows the forms and decides (docs/rationale/epilogues.md). It reads IR
// and changes nothing.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_FUSION_CONTRACTIONGROUPS_H
#define HONE_ANALYSIS_FUSION_CONTRACTIONGROUPS_H

#include "hone/Analysis/Cost/TargetDescription.h"

namespace hone {

/// One library call: act(A B + bias + addend), with sums over columns beside
/// it. What is absent is null.
struct ContractionForm {
  DotGeneralOp dot;
  AddOp bias;
  AddOp addend;
  GeluOp gelu;
  GeluBwdOp geluBwd; ///< of the product as gradient
  ReduceOp sums;     ///< a bias gradient
  bool sumsOperand =
      false; ///< of an operand of the product, else of its result

  /// The last value of the product's own chain.
  mlir::Value result() const;
  /// Reads the form of a call that computes `ops`, given in program order.
  static std::optional<ContractionForm>
  read(llvm::ArrayRef<mlir::Operation *> ops);
  /// Why the target's library does not have this form, or nothing. `keepsInput`
  /// says whether the argument of `gelu` is stored too.
  std::string whyNot(const TargetDescription &target, bool keepsInput) const;
  /// Share by which the call takes longer than its product alone.
  double slowdown(const TargetDescription &target) const;

private:
  std::string whyNoSums(const Epilogues &table) const;
};

/// An op that a call could have computed, and why it does not.
struct RefusedEpilogue {
  mlir::Operation *op;
  std::string why;
};

/// A contraction and the ops that its library call computes with it.
struct ContractionGroup {
  ContractionForm form;
  llvm::SmallVector<mlir::Operation *> ops; ///< program order, with the product
  int64_t savedBytes = 0; ///< of traffic, against kernels of their own
  llvm::SmallVector<RefusedEpilogue> refused;
};

/// One group per contraction of the block, in program order.
llvm::SmallVector<ContractionGroup>
planContractions(mlir::Block &block, const TargetDescription &target);

/// Additions of vectors to gradients of earlier micro-batches: one launch adds
/// them all, on targets where a launch is no function call. A library writes a
/// sum of columns, and cannot add to one.
llvm::SmallVector<mlir::Operation *>
planVectorSums(mlir::Block &block, const TargetDescription &target);

/// Whether `op` adds a vector to an argument, for the function to return.
bool isVectorSum(mlir::Operation *op);

} // namespace hone

#endif // HONE_ANALYSIS_FUSION_CONTRACTIONGROUPS_H
