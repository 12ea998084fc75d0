//===- SharedValues.h - What all micro-batches have in common ---*- C++ -*-===//

#ifndef HONE_LIB_TRANSFORMS_PLAN_SHAREDVALUES_H
#define HONE_LIB_TRANSFORMS_PLAN_SHAREDVALUES_H

#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"

namespace hone {

/// Values that maps and data movement compute from nothing but buffers that no
/// function of the module replaces: a table of positions, a mask. All
/// micro-batches have the same, and to recompute one takes little.
class SharedValues {
public:
  bool has(mlir::Value value);

private:
  llvm::DenseMap<mlir::Value, bool> found; ///< of values that were asked for
};

} // namespace hone

#endif // HONE_LIB_TRANSFORMS_PLAN_SHAREDVALUES_H
