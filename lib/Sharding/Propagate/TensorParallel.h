//===- TensorParallel.h - Weights that a tensor axis divides ----*- C++ -*-===//

#ifndef HONE_LIB_SHARDING_PROPAGATE_TENSORPARALLEL_H
#define HONE_LIB_SHARDING_PROPAGATE_TENSORPARALLEL_H

#include "hone/Sharding/IR/Sharding.h"

#include "llvm/ADT/StringMap.h"

namespace hone::dist {

/// Priorities of dimensions, after the batch (docs/rationale/sharding.md).
constexpr int64_t tensorPriority = 1, sequencePriority = 2, memoryPriority = 3;

/// How dimensions of parameters are divided, by name.
using FeatureShards = llvm::StringMap<llvm::SmallVector<DimAttr>>;

/// Whether an argument is a parameter or a copy of one in another type.
bool isParameter(mlir::func::FuncOp func, unsigned index);

/// How many of `ranks` along a tensor axis differ in the key heads that they
/// need, where an attention of `func` has fewer of them: groups of equal size
/// share a key head. All of `ranks` where there is none that they can divide
/// so.
int64_t ranksOfKeyHeads(mlir::func::FuncOp func, int64_t ranks);

/// The sharding along `axes` of the parameters of `func`, which reads a batch:
/// a dimension of each weight whose class (SplitClasses) is divisible, and of
/// its bias, with the cuts at which packed projections are sliced. Weights of
/// key heads have the first axes alone. An error if no weight has one; a
/// warning for weights of products that stay replicated.
mlir::FailureOr<FeatureShards>
divideFeatures(mlir::func::FuncOp func, llvm::ArrayRef<mlir::StringAttr> axes,
               const Mesh &mesh);

/// The first input of `func` that has a batch of sequences; null: none.
mlir::Value findSequences(mlir::func::FuncOp func);

/// The axes that divide the inputs of a step.
struct InputAxes {
  llvm::SmallVector<mlir::StringAttr> batch;
  mlir::StringAttr positions; ///< of sequences; null: none
};

/// Constrains what ops of `func`, whose arguments are annotated, add up over
/// `axes` to parts of the sequence, dimension 1 of an input: sums are
/// scattered, and norms and residual sums share their rows. Batch and positions
/// keep the axes of `inputs`. False: there is nothing of the kind.
mlir::FailureOr<bool> divideSequence(mlir::func::FuncOp func,
                                     llvm::ArrayRef<mlir::StringAttr> axes,
                                     const InputAxes &inputs, const Mesh &mesh);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_PROPAGATE_TENSORPARALLEL_H
