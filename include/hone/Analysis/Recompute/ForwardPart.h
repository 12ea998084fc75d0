//===- ForwardPart.h - What the loss of a step is made from -----*- C++ -*-===//
//
// A step function computes a loss and then its gradients. The ops that the loss
// is made from are its forward part; their values that other ops read have to
// stay until then, or to be recomputed.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_ANALYSIS_RECOMPUTE_FORWARDPART_H
#define HONE_ANALYSIS_RECOMPUTE_FORWARDPART_H

#include "hone/IR/ForwardOps.h"

namespace hone {

/// The ops in the block of a step function that its loss depends on. Empty for
/// a function without a loss (@update). Ops of a group's body are not in it:
/// the group is.
class ForwardPart {
public:
  explicit ForwardPart(mlir::func::FuncOp func);

  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  bool empty() const { return ops.empty(); }

  /// Whether `value` is made in the forward part and read after it, also as
  /// another shape or as a part. The function's return is no reader.
  bool isReadAfter(mlir::Value value) const;

private:
  llvm::DenseSet<mlir::Operation *> ops;
};

} // namespace hone

#endif // HONE_ANALYSIS_RECOMPUTE_FORWARDPART_H
