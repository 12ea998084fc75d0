//===- VjpRules.h - The derivative of each op -------------------*- C++ -*-===//
//
// Reverse mode needs, per op, the vector-Jacobian product: from the cotangents
// of the results those of the operands. One rule per op, in one table.
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_TRANSFORMS_AUTODIFF_VJPRULES_H
#define HONE_LIB_TRANSFORMS_AUTODIFF_VJPRULES_H

#include "hone/IR/Hone.h"

namespace hone {

/// Cotangents of values while the graph is walked backwards. Contributions to
/// one value are added in the order in which the walk makes them, which
/// depends on the graph only.
class Cotangents {
public:
  /// `active`: values that a requested argument influences; no other value is
  /// given a cotangent.
  explicit Cotangents(llvm::DenseSet<mlir::Value> active)
      : active(std::move(active)) {}

  bool isActive(mlir::Value value) const { return active.contains(value); }
  mlir::Value lookup(mlir::Value value) const { return sums.lookup(value); }
  void add(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value,
           mlir::Value cotangent);

private:
  llvm::DenseSet<mlir::Value> active;
  llvm::DenseMap<mlir::Value, mlir::Value> sums;
};

/// True when `op` has a rule, or autodiff puts another value in its place.
bool hasVjpRule(mlir::Operation *op);

/// Adds to the cotangents of the operands of `op` what its results' contribute,
/// with ops built at `builder`. At least one result has a cotangent. Fails with
/// an error on `op` when it has no rule, or not for the operand or result that
/// needs one.
mlir::LogicalResult applyVjpRule(mlir::Operation *op, mlir::OpBuilder &builder,
                                 Cotangents &cotangents);

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_AUTODIFF_VJPRULES_H
