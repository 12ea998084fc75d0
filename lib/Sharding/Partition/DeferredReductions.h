//===- DeferredReductions.h - Which sums over ranks may wait ----*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_PARTITION_DEFERREDREDUCTIONS_H
#define HONE_LIB_SHARDING_PARTITION_DEFERREDREDUCTIONS_H

#include "hone/Sharding/IR/Sharding.h"

namespace hone::dist {

/// Where the values of a global function go through ops that are linear in
/// them (HoneOpInterface), each having one reader. There, ranks can go on with
/// partial sums and reduce them later.
class DeferredReductions {
public:
  DeferredReductions(mlir::func::FuncOp func, const Mesh &mesh);

  /// The axes along which a value is requested as partial sums: it ends in a
  /// result that is partial along them.
  Axes requestedAs(mlir::Value value) const { return expected.lookup(value); }
  /// Whether sums can be fewer or smaller further on: several values are added
  /// up there, or less is made of them.
  bool isMergedLater(mlir::Value value) const { return merged.contains(value); }

private:
  void visit(mlir::Operation *op);

  llvm::DenseMap<mlir::Value, Axes> expected;
  llvm::DenseSet<mlir::Value> merged;
};

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_PARTITION_DEFERREDREDUCTIONS_H
