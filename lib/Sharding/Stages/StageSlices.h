//===- StageSlices.h - Which stage computes what ----------------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_STAGES_STAGESLICES_H
#define HONE_LIB_SHARDING_STAGES_STAGESLICES_H

#include "Sharding/Stages/StageFunction.h"

namespace hone::dist {

/// What the results of a chunk need of a function.
struct Slice {
  llvm::DenseSet<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Value> arguments;

  /// Adds `value` and what it needs, up to what other chunks hand over.
  mlir::LogicalResult add(const CutFunction &part, mlir::Value value,
                          int64_t chunk);
};

/// That of a chunk; an error at an op that another chunk computes.
mlir::FailureOr<Slice> findSlice(const CutFunction &part, int64_t chunk);

/// Whether `boundary` hands back the gradient of a weight.
bool handsGradient(const CutFunction &part, BoundaryOp boundary);

/// The ops of `part` that hand something from `chunk` to others, or back.
llvm::SmallVector<BoundaryOp> boundariesFrom(const CutFunction &part,
                                             int64_t chunk);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_STAGES_STAGESLICES_H
