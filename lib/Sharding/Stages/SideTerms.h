//===- SideTerms.h - Terms of the loss beside the last layer ----*- C++ -*-===//
//
// A loss may have terms that layers before the last add, as those that balance
// mixtures of experts. They read values that no later layer reads: a stage
// would have more to hand on than one value. The ops that belong to such terms
// alone therefore move to the last stage, and what they read travels in the
// columns of the value that stages hand on anyway.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_SHARDING_STAGES_SIDETERMS_H
#define HONE_LIB_SHARDING_STAGES_SIDETERMS_H

#include "Sharding/Stages/CutValues.h"

namespace hone::dist {

/// The ops of terms beside the main one, that of the last layer.
class SideTerms {
public:
  /// Moves them to the end of `func`, behind all ops of the main term. What
  /// integers they read of the main term they compute again.
  static SideTerms moveToEnd(mlir::func::FuncOp func, const Origins &origins);

  /// Whether `op` belongs to a side term or adds terms.
  bool contains(mlir::Operation *op) const { return ops.contains(op); }
  bool empty() const { return ops.empty(); }
  /// What they read of the ops up to `last`, but for `handedOn`.
  llvm::SmallVector<mlir::Value> readsUpTo(mlir::Operation *last,
                                           mlir::Value handedOn,
                                           const Origins &origins) const;
  /// Replaces `before`, where they read it.
  void replaceReads(mlir::Value before, mlir::Value after) const;

private:
  llvm::DenseSet<mlir::Operation *> ops;
};

/// Whether `side` can be columns beside `value`: whether it has as many rows,
/// in its first dimensions. All dimensions of `value` but the last are rows; a
/// vector has a column.
bool hasRowsOf(mlir::Value side, mlir::Value value);
/// `value` with `sides`, which have its rows, as further columns, in a type
/// that holds all.
mlir::Value packColumns(mlir::OpBuilder &builder, mlir::Value value,
                        mlir::ArrayRef<mlir::Value> sides);
/// What packColumns has joined: values of the types of `value` and `sides`.
llvm::SmallVector<mlir::Value> unpackColumns(mlir::OpBuilder &builder,
                                             mlir::Value packed,
                                             mlir::Value value,
                                             mlir::ArrayRef<mlir::Value> sides);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_STAGES_SIDETERMS_H
