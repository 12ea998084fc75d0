//===- Scratch.h - Memory that a kernel needs for itself --------*- C++ -*-===//

#ifndef HONE_ANALYSIS_SCRATCH_H
#define HONE_ANALYSIS_SCRATCH_H

#include "hone/Analysis/TargetDescription.h"

namespace hone {

/// Elements of a tensor whose squares one partial sum of a global norm holds.
constexpr int64_t normChunk = 16384;
/// Number of those for a tensor or buffer.
int64_t normPartials(mlir::Type input);

/// Of the backward pass of attention on types narrower than fp32: the sums of
/// the gradients of keys and of values, which are rounded at the end only.
/// Otherwise empty: such sums stand in their results.
llvm::SmallVector<mlir::MemRefType> gradientSumTypes(AttentionBwdOp op);

/// Types of the scratch buffers of a group, in the order of its launch's
/// `scratch` operands:
/// - a row group: per yielded sum over rows, its partial sums [chunks, cols]
///   (or [chunks] for a sum over everything);
/// - attention backward: its gradientSumTypes;
/// - a global norm: all partial sums of squares.
llvm::SmallVector<mlir::MemRefType>
scratchTypes(GroupOp group, const TargetDescription &target);

} // namespace hone

#endif // HONE_ANALYSIS_SCRATCH_H
