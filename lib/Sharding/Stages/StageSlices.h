//===- StageSlices.h - Which stage computes what ----------------*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_STAGES_STAGESLICES_H
#define HONE_LIB_SHARDING_STAGES_STAGESLICES_H

#include "Sharding/Stages/StageFunction.h"

namespace hone::dist {

/// What the results of a stage need of a function.
struct Slice {
  llvm::DenseSet<mlir::Operation *> ops;
  llvm::DenseSet<mlir::Value> arguments;

  /// Adds `value` and what it needs, up to what other stages hand over.
  mlir::LogicalResult add(const CutFunction &part, mlir::Value value,
                          int64_t stage);
};

/// That of a stage; an error at an op that another stage computes.
mlir::FailureOr<Slice> findSlice(const CutFunction &part, int64_t stage);

/// Whether `boundary` hands back the gradient of a weight.
bool handsGradient(const CutFunction &part, BoundaryOp boundary);

/// The ops of `part` that hand something from `stage` to others, or back.
llvm::SmallVector<BoundaryOp> boundariesFrom(const CutFunction &part,
                                             int64_t stage);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_STAGES_STAGESLICES_H
