//===- ContextParallel.h - Positions that an axis divides -------*- C++ -*-===//
//
// Ranks along axis cp divide the positions of sequences, as further axes divide
// the batch (docs/rationale/context-parallel.md).
//
//===----------------------------------------------------------------------===//

#ifndef HONE_LIB_SHARDING_PROPAGATE_CONTEXTPARALLEL_H
#define HONE_LIB_SHARDING_PROPAGATE_CONTEXTPARALLEL_H

#include "TensorParallel.h"

namespace hone::dist {

/// `size` positions in two runs per rank along `axes`: as many before the
/// middle as behind it, counted from both ends.
DimAttr zigzagOf(llvm::ArrayRef<mlir::StringAttr> axes, int64_t size,
                 int64_t priority = 0, bool isOpen = false);

/// The dimension of an input of type `type` that counts `positions`; none
/// where it is the batch's or there is no such.
std::optional<unsigned> dimOfPositions(mlir::RankedTensorType type,
                                       int64_t positions);

/// Losses of `func` over rows that a reshape merged read batch and positions
/// apart, so that different axes can divide the two.
void separateRows(mlir::func::FuncOp func);

/// How attention gets the positions of other ranks.
enum class ContextLowering { Gather, Heads, Ring };

/// The lowering of the attention of `func` that `context` asks for: "gather",
/// "heads", "ring" or "auto", which compares what each sends, how long that
/// takes, and what it holds (ContextChoice.cpp). Errors where it asks for heads
/// that the ranks along positions and `tensorAxes` cannot divide, or for a ring
/// that attention cannot use. With `report`, a remark says what was compared.
mlir::FailureOr<ContextLowering> chooseContext(
    mlir::func::FuncOp func, llvm::StringRef context, const InputAxes &inputs,
    llvm::ArrayRef<mlir::StringAttr> tensorAxes, const Mesh &mesh, bool report);

/// Why keys of `op` cannot go around a ring; "": they can.
std::string whyNoRing(AttentionOp op);

/// Makes attention of `func` attention in a ring along `axis`. It has no mask
/// but the causal one (whyNoRing).
void makeRings(mlir::func::FuncOp func, mlir::StringAttr axis);

/// Constrains what attention of `func` reads and makes to heads along the axis
/// of positions, and what others read of it to positions again (Jacobs et al.,
/// 2023).
void divideHeads(mlir::func::FuncOp func, const InputAxes &inputs,
                 llvm::ArrayRef<mlir::StringAttr> tensorAxes);

} // namespace hone::dist

#endif // HONE_LIB_SHARDING_PROPAGATE_CONTEXTPARALLEL_H
